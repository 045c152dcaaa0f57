"""Jobs: what every long run shares: outputs that appear whole or not at all, and the engines that do the work."""
