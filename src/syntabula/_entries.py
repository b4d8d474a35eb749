"""Facts about a part that are known before it is imported, and the list of built-in parts in display order."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

Kind = Literal[
    "synthesizer", "selector", "model", "record_model", "discretizer", "metric", "attack", "study_collection"
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A named part and the class that implements it.

    Attributes:
        kind: What sort of part it is.
        key: Its lower-case name; a release file names a model by it.
        home: Module and class, "module:Class".
        summary: What it does, in one sentence.
        name: Its spelling in the paper or the class; by default the key.
        paper: Its source.
        extra: The optional extra that it needs; empty if none.
        aliases: Other lower-case names, by which tables of papers call its private form.
    """

    kind: Kind
    key: str
    home: str
    summary: str = "Plug-in."
    name: str = ""
    paper: str = ""
    extra: str = ""
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """Import and return the class."""
        module, _, name = self.home.partition(":")
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found


# fmt: off
BUILT_IN: tuple[Entry, ...] = (
    Entry(kind="synthesizer", key="auto", name="Auto", home="syntabula.synthesizers.auto:Auto",
          summary="Chooses the method for a table and a budget, under privacy or without, and gives the reason.",
          paper="after Chen, Gong, Wang, MargNet"),
    Entry(kind="synthesizer", key="independent", name="Independent",
          home="syntabula.synthesizers.independent:Independent",
          summary="Every column on its own: the baseline.", paper="HISTOGRAM in Du and Li, SynMeter"),
    Entry(kind="synthesizer", key="mst", name="MST", home="syntabula.synthesizers.mst:MST",
          summary="A maximum spanning tree of pairs, estimated by Private-PGM: fast and robust.",
          paper="McKenna, Miklau, Sheldon 2021"),
    Entry(kind="synthesizer", key="aim", name="AIM", home="syntabula.synthesizers.aim:AIM",
          summary="Adaptive measurements where the model is most wrong: accurate on most tables.",
          paper="McKenna, Mullins, Sheldon, Miklau 2022"),
    Entry(kind="synthesizer", key="privsyn", name="PrivSyn", home="syntabula.synthesizers.privsyn:PrivSyn",
          summary="Pairs far from independence, fitted by moving records towards them: fast on dense tables.",
          paper="Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang 2021"),
    Entry(kind="synthesizer", key="private-gsd", name="Private-GSD",
          home="syntabula.synthesizers.private_gsd:PrivateGSD",
          summary="All pairs at once, fitted by a genetic algorithm on records: for large budgets.",
          paper="Liu, Tang, Vietri, Wu 2023"),
    Entry(kind="synthesizer", key="privbayes", name="PrivBayes",
          home="syntabula.synthesizers.privbayes:PrivBayes",
          summary="A Bayesian network with a few parents for each column: fast and readable.",
          paper="Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017"),
    Entry(kind="synthesizer", key="privmrf", name="PrivMRF", home="syntabula.synthesizers.privmrf:PrivMRF",
          summary="Marginals of several columns within a dependence graph: for groups of strongly dependent columns.",
          paper="Cai, Lei, Wei, Xiao 2021"),
    Entry(kind="synthesizer", key="mwem", name="MWEM", home="syntabula.synthesizers.mwem:MWEM",
          summary="Multiplicative weights in as many rounds as columns: the classic baseline.",
          paper="Hardt, Ligett, McSherry 2012"),
    Entry(kind="synthesizer", key="margnet", name="MargNet", home="syntabula.synthesizers.margnet:MargNet",
          summary="Adaptive pairs fitted by a neural network: for tables whose columns all depend on each other.",
          paper="Chen, Gong, Wang, MargNet", extra="neural"),
    Entry(kind="synthesizer", key="margnet-q", name="MargNet-q",
          home="syntabula.synthesizers.margnet:MargNetQ",
          summary="MargNet with single cells instead of pairs: an ablation.",
          paper="Chen, Gong, Wang, MargNet", extra="neural"),
    Entry(kind="synthesizer", key="margnet-s", name="MargNet-s",
          home="syntabula.synthesizers.margnet:MargNetS",
          summary="MargNet in a fixed number of rounds: an ablation.",
          paper="Chen, Gong, Wang, MargNet", extra="neural"),
    Entry(kind="synthesizer", key="gem", name="GEM", home="syntabula.synthesizers.gem:GEM",
          summary="Single cells, chosen adaptively, fitted by a neural network.",
          paper="Liu, Vietri, Wu 2021", extra="neural"),
    Entry(kind="synthesizer", key="rap", name="RAP", home="syntabula.synthesizers.rap:RAP",
          summary="A few single cells per round, fitted by optimising soft rows directly.",
          paper="Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva 2021", extra="neural"),
    Entry(kind="synthesizer", key="rap++", name="RAP++", home="syntabula.synthesizers.rap:RAPPlusPlus",
          summary="Pairs and random linear thresholds, fitted by optimising soft rows directly.",
          paper="Vietri et al. 2022", extra="neural"),
    Entry(kind="synthesizer", key="argn", name="ARGN", home="syntabula.synthesizers.argn:ARGN",
          summary="A network that draws each column given any others, trained on records.",
          paper="after Tiwald et al. 2025, TabularARGN", extra="neural"),
    Entry(kind="synthesizer", key="tabddpm", name="TabDDPM", home="syntabula.synthesizers.tabddpm:TabDDPM",
          summary="Diffusion of numbers and categories, trained on records: rows are drawn out of noise.",
          paper="Kotelnikov, Baranchuk, Rubachev, Babenko 2023", extra="neural",
          aliases=("dp-tabddpm",)),
    Entry(kind="synthesizer", key="great", name="GReaT", home="syntabula.synthesizers.great:GReaT",
          summary="A language model that writes records as clauses in any order, trained on them: without privacy.",
          paper="Borisov et al. 2023, GReaT", extra="neural"),
    Entry(kind="synthesizer", key="tablediffusion", name="TableDiffusion",
          home="syntabula.synthesizers.tablediffusion:TableDiffusion",
          summary="Diffusion with a few levels of noise, all of them in each step of training.",
          paper="Truda 2023, TableDiffusion", extra="neural"),
    Entry(kind="synthesizer", key="ctgan", name="CTGAN", home="syntabula.synthesizers.ctgan:CTGAN",
          summary="Rows that a critic cannot tell from records; with a budget AIM came nearer to all tables measured.",
          paper="Xu et al. 2019", extra="neural",
          aliases=("dp-ctgan",)),
    Entry(kind="synthesizer", key="tvae", name="TVAE", home="syntabula.synthesizers.tvae:TVAE",
          summary="Hidden numbers that a decoder turns into rows, trained on records.",
          paper="Xu et al. 2019", extra="neural"),
    Entry(kind="synthesizer", key="circuit", name="Circuit", home="syntabula.synthesizers.circuit:Circuit",
          summary="A tree of hidden states, trained on records: without privacy, exact marginals and conditions.",
          paper="after Liu, Van den Broeck 2021", extra="neural"),
    Entry(kind="synthesizer", key="pategan", name="PATEGAN", home="syntabula.synthesizers.pategan:PATEGAN",
          summary="Teachers on parts of the records vote on generated rows, and a generator learns from noisy votes.",
          paper="after Jordon, Yoon, van der Schaar 2019", extra="neural"),
    Entry(kind="synthesizer", key="synthpop", name="Synthpop",
          home="syntabula.synthesizers.synthpop:Synthpop",
          summary="A tree for each column given those before it: grown on records, or on noisy counts with a budget.",
          paper="Nowok, Raab, Dibben 2016, synthpop", extra="evaluate",
          aliases=("dp-synthpop",)),
    Entry(kind="synthesizer", key="tab-pe", name="TabPE", home="syntabula.synthesizers.tabpe:TabPE",
          summary="Rows that evolve by noisy votes of the records for the nearest: for dependence of many columns.",
          paper="after Tran et al. 2026, Tab-PE"),
    Entry(kind="synthesizer", key="dp-merf", name="DPMERF", home="syntabula.synthesizers.dpmerf:DPMERF",
          summary="A generator whose rows have the noisy mean of random features of the records.",
          paper="Harder, Adamczewski, Park 2021, DP-MERF", extra="neural"),
    Entry(kind="selector", key="one_way", home="syntabula.select.fixed_marginals:OneWay",
          summary="Every column on its own."),
    Entry(kind="selector", key="all_pairs", home="syntabula.select.fixed_marginals:AllPairs",
          summary="Every pair of columns at once."),
    Entry(kind="selector", key="given", home="syntabula.select.fixed_marginals:GivenWorkload",
          summary="The marginals of a given workload at once."),
    Entry(kind="selector", key="spanning_tree", home="syntabula.select.spanning_tree:SpanningTree",
          summary="Pairs that join all columns, as in MST."),
    Entry(kind="selector", key="privbayes", home="syntabula.select.privbayes:ParentSets",
          summary="A few parents for each column, as in PrivBayes."),
    Entry(kind="selector", key="independent_difference",
          home="syntabula.select.independent_difference:IndependentDifference",
          summary="Pairs whose dependence outweighs their noise, as in PrivSyn (InDif)."),
    Entry(kind="selector", key="adaptive", home="syntabula.select.adaptive:Adaptive",
          summary="Where the model is most wrong, as in AIM."),
    Entry(kind="selector", key="mwem", home="syntabula.select.worst_approximated:WorstApproximated",
          summary="One round per column, each where the model is most wrong, as in MWEM."),
    Entry(kind="selector", key="doubling", home="syntabula.select.doubling:FirstTimeDoubling",
          summary="The pair where the model is most wrong, whatever its size, as in MargNet."),
    Entry(kind="selector", key="fixed_rounds", home="syntabula.select.fixed_rounds:FixedRounds",
          summary="The pairs where the model is most wrong, in rounds of equal cost, as in MargNet-s."),
    Entry(kind="selector", key="top_q", home="syntabula.select.top_q:TopQ",
          summary="A few new pairs in each of a few rounds, and thresholds over ordered columns, as in RAP++."),
    Entry(kind="selector", key="cells", home="syntabula.select.cell_queries:CellQueries",
          summary="Single cells where the model is most wrong, as in GEM and RAP."),
    Entry(kind="selector", key="privmrf", home="syntabula.select.privmrf:AttributeGraph",
          summary="Marginals within a graph of dependent columns, refined, as in PrivMRF."),
    Entry(kind="model", key="pgm", home="syntabula.models.pgm:PGM",
          summary="Private-PGM: factors on a junction tree."),
    Entry(kind="model", key="relaxed_projection",
          home="syntabula.models.relaxed_projection:RelaxedProjection",
          summary="Soft rows optimised directly, as in RAP.", extra="neural"),
    Entry(kind="model", key="neural", home="syntabula.models.neural:NeuralRows",
          summary="Soft rows generated by a neural network, as in GEM and MargNet.", extra="neural"),
    Entry(kind="model", key="gum", home="syntabula.models.gum:GUM",
          summary="Records copied and overwritten step by step, as in PrivSyn."),
    Entry(kind="model", key="genetic", home="syntabula.models.genetic:Genetic",
          summary="Records that mutate and cross over, as in Private-GSD."),
    Entry(kind="model", key="bayesian_network", home="syntabula.models.bayesian_network:BayesianNetwork",
          summary="Each column conditioned on a few earlier ones, as in PrivBayes."),
    Entry(kind="record_model", key="autoregressive",
          home="syntabula.record_models.autoregressive:Autoregressive",
          summary="A network that draws any column given any others, trained on records.", extra="neural"),
    Entry(kind="record_model", key="tabular_diffusion",
          home="syntabula.record_models.tabular_diffusion:TabularDiffusion",
          summary="A network that takes noise off numbers and categories, trained on records.",
          extra="neural"),
    Entry(kind="record_model", key="language", home="syntabula.record_models.language:LanguageModel",
          summary="A causal transformer that writes records as clauses in any order, trained on records.",
          extra="neural"),
    Entry(kind="record_model", key="pretrained_language",
          home="syntabula.record_models.pretrained:PretrainedLanguage",
          summary="A pretrained language model of the user's, fine-tuned on records as clauses in any order.",
          extra="language"),
    Entry(kind="record_model", key="adversarial", home="syntabula.record_models.adversarial:Adversarial",
          summary="Generator and critic, with a category as a condition, as in CTGAN.", extra="neural"),
    Entry(kind="record_model", key="variational", home="syntabula.record_models.variational:Variational",
          summary="A variational autoencoder of records, as in TVAE.", extra="neural"),
    Entry(kind="record_model", key="circuit", home="syntabula.record_models.circuit:Circuit",
          summary="Hidden states of columns in a tree of dependences, trained on records.", extra="neural"),
    Entry(kind="record_model", key="column_trees", home="syntabula.record_models.column_trees:ColumnTrees",
          summary="A tree for each column given those before it, grown on records.", extra="evaluate"),
    Entry(kind="record_model", key="evolved_rows", home="syntabula.record_models.population:EvolvedRows",
          summary="Synthetic records that evolved by votes of real ones, as in Tab-PE."),
    Entry(kind="record_model", key="mean_embedding",
          home="syntabula.record_models.mean_embedding:MeanEmbedding",
          summary="Soft rows generated towards a released mean of random features, as in DP-MERF.",
          extra="neural"),
    Entry(kind="discretizer", key="quantile", home="syntabula.prepare.quantile:QuantileBins",
          summary="Bins of equal counts, between private quantiles.", paper="Ganev et al., Discretization"),
    Entry(kind="discretizer", key="kmeans", home="syntabula.prepare.kmeans:KMeansBins",
          summary="Cells around private cluster centres.", paper="Su et al. 2016"),
    Entry(kind="discretizer", key="privtree", home="syntabula.prepare.privtree:PrivTreeBins",
          summary="Repeated halving, finer where there are many records.", paper="Zhang, Xiao and Xie 2016"),
    Entry(kind="discretizer", key="fine", home="syntabula.prepare.privtree:FineBins",
          summary="Exact values and bins of equal counts, up to 1,000: without privacy, for models of records."),
    Entry(kind="discretizer", key="usual", home="syntabula.prepare.privtree:UsualBins",
          summary="The default: privtree under a budget, and without privacy exact values and bins as in fine, "
                  "up to 250."),
    Entry(kind="attack", key="groundhog", home="syntabula.attacks.groundhog:GroundHog",
          summary='Membership inference from column statistics (Stadler, Oprisanu, Troncoso, "Groundhog Day", 2022).'),
    Entry(kind="attack", key="querybased", home="syntabula.attacks.querybased:QueryBased",
          summary='Membership inference from counts of the target\'s values (Houssiau et al., "TAPAS", 2022).'),
    Entry(kind="attack", key="range", home="syntabula.attacks.value_range:ValueRange",
          summary="Membership of a record outside the range of all others, from the least and largest synthetic values."),
    Entry(kind="study_collection", key="syntabula", home="syntabula.bench.papers.ours:OurStudies",
          summary="Every method, and every pair of selector and model."),
    Entry(kind="study_collection", key="tab_bench", home="syntabula.bench.papers.tab_bench:TabBench",
          summary="Tables and figures of a benchmark of private methods and of their modules.",
          paper="Chen, Li, Gong, McKenna, Wang, tab_bench"),
    Entry(kind="study_collection", key="margnet", home="syntabula.bench.papers.margnet:MargNetStudies",
          summary="Tables and figures of MargNet.", paper="Chen, Gong, Wang, MargNet"),
    Entry(kind="study_collection", key="synmeter", home="syntabula.bench.papers.synmeter:SynMeterStudies",
          summary="Tables and figures of SynMeter: fidelity, queries, utility and disclosure.",
          paper="Du and Li, SynMeter"),
    Entry(kind="study_collection", key="discretization",
          home="syntabula.bench.papers.discretization:DiscretizationStudies",
          summary="Figures of a study of bins: columns, tables, rules, domains and attacks.",
          paper='Ganev et al., "The Importance of Being Discrete"'),
)

UNLISTED: tuple[Entry, ...] = (
    # A run makes these two around the model that was asked for.
    Entry(kind="model", key="recoded", home="syntabula.models.recoded:RecodedModel"),
    Entry(kind="model", key="raked_rows", home="syntabula.record_models.generated_rows:RakedRows"),
    Entry(kind="discretizer", key="uniform", home="syntabula.bins.uniform:UniformBins",
          summary="Bins of equal width; free."),
    Entry(kind="attack", key="disclosure", home="syntabula.attacks.disclosure:membership_disclosure"),
)
"""Parts that the register does not list, as they are used in another way than others of their kind; their names are
taken. Metrics are in `metrics/registry.py`."""
# fmt: on
