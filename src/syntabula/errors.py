"""Every error and warning of syntabula.

SyntabulaError
├── ArgumentError(ValueError)      an argument is wrong; raised before data is read
├── SchemaError(ValueError)        a schema is wrong, or does not fit the table
├── DataError(ValueError)          a table cannot be read as its schema says
├── BudgetError(ValueError)        a budget is not valid
├── BudgetExceededError            a spend was refused by the ledger, before any noise was drawn
├── ResumeError                    the journal belongs to another run; nothing was drawn
├── ObservedDomainError            a domain was taken from the data without explicit permission
├── PrivateDomainError             noise hides a column's domain at this budget; the budget is spent
├── ResourceError(MemoryError)     the plan does not fit the stated memory
├── TrainingError                  a network's training came to no numbers
├── StudyError                      the results of a study belong to another run or version
├── MissingExtraError(ImportError) an optional library is needed
├── ReleaseFileError(ValueError)   a release file or a journal is truncated, altered, foreign or newer
└── DatasetError(LookupError)      a named dataset is unknown or not available

No message contains a cell's value, because log collectors keep errors forever.
"""

from __future__ import annotations

import sys
import warnings


class SyntabulaError(Exception):
    """Root of all errors that syntabula raises on purpose."""


class ArgumentError(SyntabulaError, ValueError):
    """An argument is wrong; the message names it and says what was given and what is allowed."""


class SchemaError(SyntabulaError, ValueError):
    """A schema is inconsistent, or does not fit the table that it is used with."""


class DataError(SyntabulaError, ValueError):
    """A table cannot be read as its schema says."""


class BudgetError(SyntabulaError, ValueError):
    """A privacy budget is not valid."""


class BudgetExceededError(SyntabulaError):
    """The ledger refused a spend; nothing was drawn and nothing was spent."""


class ResumeError(SyntabulaError):
    """A run cannot resume from its journal, because the spends in it belong to another run."""


class ObservedDomainError(SyntabulaError):
    """A domain was taken from the sensitive data without the user's explicit permission."""


class PrivateDomainError(SyntabulaError):
    """A column's domain could not be found under privacy; this was decided from noisy answers alone."""


class ResourceError(SyntabulaError, MemoryError):
    """A step would need more memory than allowed; raised before anything is allocated."""


class TrainingError(SyntabulaError):
    """The loss of a network that is trained on records is no number any more; nothing was released."""


class StudyError(SyntabulaError):
    """The results of a study cannot be used: another run, another version or something else wrote them."""


class MissingExtraError(SyntabulaError, ImportError):
    """An optional library is missing; the message gives the install line."""


class ReleaseFileError(SyntabulaError, ValueError):
    """A release file or a journal cannot be trusted, understood or written."""


class DatasetError(SyntabulaError, LookupError):
    """A named dataset is unknown or not available here."""


class SyntabulaWarning(UserWarning):
    """Root of all warnings."""


class CoercionWarning(SyntabulaWarning):
    """Part of a table was changed on reading: cells outside the schema's domain, or a named index."""


class PrivacyWarning(SyntabulaWarning):
    """An allowed choice weakens the guarantee."""


class DomainWarning(SyntabulaWarning):
    """A private domain leaves out much of a column; this was decided from noisy answers alone."""


class ConditionWarning(SyntabulaWarning):
    """Rows were drawn under conditions that the model gives almost no probability; it shows the conditions, no cell."""


class TrainingWarning(SyntabulaWarning):
    """A training diverged, learned little, or has options that do nothing; see the message."""


class RuleWarning(SyntabulaWarning):
    """Rows break rules of the schema: many of those drawn, some of those fitted, or all tried; or a rule is missing."""


class PluginWarning(SyntabulaWarning):
    """The entry point of a package is ignored, because another part has its name."""


class SplitWarning(SyntabulaWarning):
    """A table that should hold units that were not seen, such as a holdout, has rows of units that were."""


def warn_caller(warning: Warning) -> None:
    """Warn at the line that called this library from outside, however deep the cause lies.

    Frames are recognised by their module. Python 3.12's `skip_file_prefixes` goes by file names, and would stop at the
    constructors that dataclasses generate, which have none.
    """
    frame = caller = sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
            # Other libraries may lie between our frames; the caller of our outermost frame is the user's.
            caller = frame.f_back
        frame = frame.f_back
    warnings.warn_explicit(
        warning,
        category=type(warning),
        filename=caller.f_code.co_filename,
        lineno=caller.f_lineno,
        module=str(caller.f_globals.get("__name__")),
        registry=caller.f_globals.setdefault("__warningregistry__", {}),
    )
