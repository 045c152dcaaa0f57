# The public names, one import a line. __init__.py reads these lines at run time; type checkers and editors read them too.
from . import errors as errors
from .api import MergeOptions as MergeOptions
from .api import TrainingOptions as TrainingOptions
from .api import encoding_for_model as encoding_for_model
from .api import list_encoding_names as list_encoding_names
from .api import load as load
from .api import train as train
from .api import train_from_counts as train_from_counts
from .api import train_from_iterator as train_from_iterator
from .api import train_parity as train_parity
from .corpus import CleaningReport as CleaningReport
from .corpus import CleanOptions as CleanOptions
from .corpus import Document as Document
from .corpus import clean as clean
from .corpus import read_documents as read_documents
from .counting import CountOptions as CountOptions
from .counting import WordCounts as WordCounts
from .counting import count as count
from .counting import count_iterator as count_iterator
from .counting.count_jobs import count_to_folder as count_to_folder
from .counting.sum_saved import add_up as add_up
from .jobs.work import JobOptions as JobOptions
from .quality import Comparison as Comparison
from .quality import Inspection as Inspection
from .quality import InspectionOptions as InspectionOptions
from .quality import Pruned as Pruned
from .quality import compare as compare
from .quality import extend as extend
from .quality import inspect as inspect
from .quality import prune as prune
from .sources.blocks import ReadOptions as ReadOptions
from .split import Splitter as Splitter
from .token_files import EncodeOptions as EncodeOptions
from .token_files import TokenFile as TokenFile
from .token_files import encode_files as encode_files
from .token_files import load_tokens as load_tokens
from .tokenizer import Tokenizer as Tokenizer
from .tokenizer.check import Agreement as Agreement
from .tokenizer.check import Difference as Difference
from .tokenizer.check import check as check
from .training.watching import TrainingEvent as TrainingEvent
from .vocabulary import AddedToken as AddedToken
from .vocabulary import Vocabulary as Vocabulary

__version__: str
__all__: list[str]
