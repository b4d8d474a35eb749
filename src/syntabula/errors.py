"""Every error and warning of syntabula.

SyntabulaError
├── ArgumentError(ValueError)      an argument is wrong; raised before data is read
├── SchemaError(ValueError)        a schema is wrong, or does not fit the table
├── DataError(ValueError)          a table cannot be read as its schema says
├── BudgetError(ValueError)        a budget is not valid
├── BudgetExceededError            a spend was refused by the ledger, before any noise was drawn
├── ResumeError                    a journal belongs to another run; nothing was drawn
├── ObservedDomainError            a domain read off the data was not explicitly allowed
├── PrivateDomainError             noise hides the domain of a column at this budget; the budget is spent
├── ResourceError(MemoryError)     the plan does not fit the stated memory
├── TrainingError                  a network's training came to no numbers
├── MissingExtraError(ImportError) an optional library is needed
├── ReleaseFileError(ValueError)   a release file or a journal is truncated, altered, foreign or newer
└── DatasetError(LookupError)      a named dataset cannot be had

No message carries a cell's value: errors are kept by log collectors for ever.
"""


class SyntabulaError(Exception):
    """Root of all errors that syntabula raises on purpose."""


class ArgumentError(SyntabulaError, ValueError):
    """An argument is wrong; the message names it, what was given and what is allowed."""


class SchemaError(SyntabulaError, ValueError):
    """A schema is inconsistent, or does not fit the table that it is used with."""


class DataError(SyntabulaError, ValueError):
    """A table cannot be read as its schema says."""


class BudgetError(SyntabulaError, ValueError):
    """A privacy budget is not valid."""


class BudgetExceededError(SyntabulaError):
    """The ledger refused a spend; nothing was drawn and nothing was spent."""


class ResumeError(SyntabulaError):
    """A run cannot go on from its journal: the spends there are another run's."""


class ObservedDomainError(SyntabulaError):
    """A domain was read off the sensitive data without the explicit word of the user."""


class PrivateDomainError(SyntabulaError):
    """The domain of a column could not be found under privacy; decided from noisy answers alone."""


class ResourceError(SyntabulaError, MemoryError):
    """A step would need more memory than allowed; raised before anything is allocated."""


class TrainingError(SyntabulaError):
    """The loss of a network that is trained on records is no number any more; nothing was released."""


class MissingExtraError(SyntabulaError, ImportError):
    """An optional library is missing; the message gives the install line."""


class ReleaseFileError(SyntabulaError, ValueError):
    """A release file or a journal cannot be trusted, understood or written."""


class DatasetError(SyntabulaError, LookupError):
    """A named dataset is unknown or cannot be had here."""


class SyntabulaWarning(UserWarning):
    """Root of all warnings."""


class CoercionWarning(SyntabulaWarning):
    """Part of a table was not read as it stands: cells outside the schema's domain, or an index with a name."""


class PrivacyWarning(SyntabulaWarning):
    """A choice weakens the guarantee, though it is allowed."""


class DomainWarning(SyntabulaWarning):
    """A domain that was found under privacy leaves out much of a column; decided from noisy answers alone."""


class ConditionWarning(SyntabulaWarning):
    """Rows that satisfy conditions were drawn from next to nothing; what was given shows in it, no cell does."""
