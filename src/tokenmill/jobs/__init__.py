"""Shared code of all long jobs.

progress.py has the type of progress callbacks. outputs.py writes files and folders that appear whole or not at all.
working_folder.py keeps the state of a job, so that an interrupted one resumes. work.py does the tasks of a job on this
machine; ray.py does them on a Ray cluster. in_order.py maps on threads. worker_pool.py applies a function to documents
in processes that may crash.
"""
