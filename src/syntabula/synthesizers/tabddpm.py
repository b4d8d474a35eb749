"""TabDDPM: diffusion of numbers and categories side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.tabular_diffusion import TabularDiffusion
from syntabula.synthesizers.record_trained import NoisyTrained


@dataclass(frozen=True, kw_only=True)
class TabDDPM(NoisyTrained):
    """Add noise to records level by level, train a network to take it off, and draw rows from noise.

    Kotelnikov, Baranchuk, Rubachev, Babenko (2023), "TabDDPM: Modelling Tabular Data with Diffusion Models", section 4:
    normal noise on normal scores of numbers, multinomial noise on categories, one network of fully connected layers
    for both, a cosine schedule of 1,000 levels, and AdamW.

    It differs from the paper and its public code in what follows.

    - A number's rank is drawn within the step of its code, so that frequent values do not all lie on one point.
    - The network predicts how a number turns from value to noise, instead of the noise alone, and the number follows it
      without new noise, in steps of second order (`ancestral=True` takes the paper's steps).
    - Categories are learned by cross-entropy, whose best answer is their distribution given the noisy record. With it
      strides over many levels are exact for each column, and 16 steps do for 1,000. The code learns the divergence
      between steps of one level, and takes all of them.
    - Probabilities of a column add up on their own. The code takes differences of sums over all columns, which are
      no numbers where one column's share of the sum is small.
    - The network is told categories as zeros and ones, in place of logarithms, of which most are -69.
    - The mean of the weights over the last steps draws the rows; the code keeps such a mean and does not use it.
    - The class to be predicted is a column like others, and rows can be drawn given any columns, where the paper draws
      them given the class. A third of the records are shown with some columns free of noise for that.
    - Records held out from training say when to stop.
    - Rows are drawn again by weights with which columns have the table's one-way marginals (`follow_marginals=False`
      leaves them as the network draws them).
    - The network is smaller, as the default is meant for processors; SynMeter takes seven layers of 1,024 units,
      batches of 4,096, 30,000 steps and a learning rate of .00028.
    - With a budget the layers are half as wide, 256 units, at a learning rate of .005: a step takes a fifth of
      the seconds of 512 units, eight draws and .01. Measured once at epsilon 1, pairs of columns are nearer on shoppers
      (mean TVD .070, not .074) and magic (.146, not .152), and farther off on adult (.070, not .066). `units`, `draws`
      and `learning_rate` choose others.

    Guarantee: that of the budget, which must be Gaussian (epsilon and a delta, of which a tenth is set aside for the
    cost of training). Two fifths of the budget measure one-way marginals, of which numbers get their normal scores and
    categories their frequencies, and to which columns return in the end; the rest pays for noisy gradients of records
    that are sampled and clipped (DP-SGD, Abadi et al., 2016), each at three levels of noise, which cost no more than
    one. With an infinite epsilon there is none.
    Time: that of all steps of training, as `plan` measures it. Any columns can be given to `sample`: rows that are drawn
    freely are taken where they have the given values, which costs up to 25 free rows for a given one; where too few
    have them the network is told them, and follows one or two columns only in part. Conditions are met by drawing
    until enough rows satisfy them.

    Examples:
        >>> import math, syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.TabDDPM(epsilon=math.inf).with_options(steps=20, units=32)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "tabddpm"
    paper: ClassVar[str] = "Kotelnikov, Baranchuk, Rubachev, Babenko 2023"
    model_unused_with_budget: ClassVar[tuple[str, ...]] = ("follow_marginals",)
    model: TabularDiffusion = field(default_factory=TabularDiffusion)
    training: Training = field(
        default_factory=lambda: Training(steps=4000, batch=1024, learning_rate=1e-3, average=0.999)
    )
    noisy: NoisyTraining = field(default_factory=lambda: NoisyTraining(learning_rate=5e-3))
