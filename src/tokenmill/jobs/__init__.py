"""Jobs: what every long run shares.

progress.py has the type of progress callbacks. outputs.py writes files and folders that appear whole or not at all.
working_folder.py keeps the state of a job, so that an interrupted one resumes. work.py divides a job into parts and does
them on this machine; ray.py does them on a Ray cluster. in_order.py maps on threads. worker_pool.py applies a task to
records in processes that may crash.
"""
