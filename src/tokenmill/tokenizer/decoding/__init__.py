"""The kernel that decodes ids."""
