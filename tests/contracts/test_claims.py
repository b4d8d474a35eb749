"""What the project promises, each with the tests that hold it; a promise without a test is none.

The promises are those of privacy (P) and of reliability (R) that the documentation makes to the custodian of a
table and to whoever receives a release.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# Test ids from the folder of tests on; a name in brackets is a case that the file must hold.
CLAIMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "P1": (
        "Every byte that derives from sensitive values passed through one mechanism call recorded in the ledger.",
        (
            "contracts/test_record_and_replay.py::TestRecordAndReplay"
            "::test_neighbours_differ_only_within_the_declared_sensitivity",
            "contracts/test_stored_types.py::TestOneMoreRecord"
            "::test_of_any_cells_changes_nothing_but_the_inputs_of_the_noise",
            "contracts/test_stored_types.py::TestHowItIsStored::test_changes_nothing_at_all",
            "contracts/test_stored_types.py::TestColumnsThatAreFound"
            "::test_are_named_where_a_record_decides_their_stored_types",
            "contracts/test_preprocessing_replay.py::TestRecordAndReplay::test_domains_found_privately",
            "contracts/test_planted_bugs.py::TestPlantedBugs::test_each_is_found",
            "privacy/test_doors.py::TestCharged"
            "::test_the_noise_is_that_of_the_charged_sensitivity_and_a_record_uses_all_of_it",
            "packaging/test_noise_only_in_privacy.py::test_draws_nothing_and_leaves_opendp_alone",
            "packaging/test_noise_only_in_privacy.py::test_finds_a_planted_draw",
            "privacy/doors/test_scores.py::test_a_record_changes_the_scores_of_quantiles_by_the_sensitivity_at_most",
            "privacy/doors/test_tables.py::TestChoose"
            "::test_rounding_never_adds_to_the_sensitivity_however_large_what_is_believed_is",
            "privacy/test_mechanisms_sensitive.py::TestUse::test_outside_a_mechanism_raises",
            "privacy/test_mechanisms_sensitive.py::TestAccess::test_is_named_in_privacy_only",
            "privacy/test_mechanisms.py::TestNoisyCounts::test_with_a_used_token_draws_nothing",
        ),
    ),
    "P2": (
        "The ledger refuses before the draw; no run overspends; an interrupted run has spent what it drew.",
        (
            "privacy/test_ledger.py::TestSpend::test_a_refusal_names_the_step_and_changes_nothing",
            "privacy/test_ledger.py::TestThreads::test_eight_threads_never_overspend",
            "privacy/test_ledger.py::TestProperties::test_never_above_the_total",
            "privacy/test_ledger.py::TestFailureProbabilities"
            "::test_a_third_that_does_not_fit_is_refused_and_changes_nothing",
            "contracts/test_planted_bugs.py::TestSums::test_a_ledger_that_keeps_the_largest_is_found",
            "privacy/test_ledger.py::TestJournalled::test_spend_is_on_disk_before_the_token",
            "privacy/doors/test_tables.py::TestMeasure::test_a_refused_measurement_draws_nothing",
            "synthesizers/test_end_to_end.py::TestBudget::test_no_budget_is_overspent",
            "synthesizers/test_journal_of_a_fit.py::TestBrokenOff"
            "::test_what_it_spent_counts_and_the_next_run_makes_do_with_the_rest",
            "synthesizers/test_killed_fit.py::TestWhileSpending::test_no_draw_is_without_its_spend_on_disk",
        ),
    ),
    "P3": (
        "The printed bounds are upper bounds of a rigorous accountant, rounded up, with all that they rest on.",
        (
            "privacy/test_statement.py::TestText::test_it_holds_all_that_the_guarantee_rests_on",
            "privacy/test_statement.py::TestText::test_numbers_are_never_rounded_down",
            "privacy/test_statement.py::TestVerdict"
            "::test_a_run_that_left_some_of_its_budget_is_promised_no_more_privacy_for_that",
            "privacy/test_statement.py::TestVerdict::test_what_breaks_the_guarantee_stands_first",
            "privacy/test_conversion.py::TestZcdpConversion::test_is_sound_and_tight_in_60_digits",
            "privacy/test_conversion.py::TestAgainstAnotherAccountant::test_ledger_is_sound_and_not_loose",
            "contracts/test_recompose.py::TestEveryMethod::test_its_total_is_recomposed_from_the_json_alone",
        ),
    ),
    "P4": (
        "Noise for a release is exact integer noise of a cryptographic source; a seed is said, and never a default.",
        (
            "statistics/test_noise_distribution.py::TestDistribution::test_of_the_secure_source_is_the_exact_one",
            "statistics/test_noise_distribution.py::TestPower"
            "::test_the_secure_source_passes_at_its_scale_and_fails_three_percent_off",
            "privacy/test_noise.py::TestSecureNoise::test_of_forked_processes_shares_no_draw",
            "privacy/test_vector_samplers.py::TestDraws::test_follow_the_discrete_gaussian",
            "privacy/test_vector_samplers.py::TestBeyond::test_each_number_is_tried_once_and_as_likely_as_it_must_be",
            "statistics/test_choice_distribution.py::TestMany::test_follow_the_exponential_mechanism",
            "privacy/test_exact_samplers.py::TestUnits::test_of_any_candidate_reach_its_weight",
            "privacy/test_exact_samplers.py::TestDecision"
            "::test_is_right_however_long_the_point_agrees_with_the_weight",
            "privacy/test_exact_samplers.py::TestSource::test_is_the_generator_of_the_operating_system_alone",
            "privacy/test_noise.py::TestCounting::test_at_the_ends_of_int64_stays_there_and_never_wraps",
            "privacy/test_noise.py::TestSeededNoise::test_says_that_it_is_not_private",
            "contracts/test_every_method.py::TestBudgets::test_noise_is_secure_unless_a_seed_is_given",
            "cli/test_synth.py::TestHappyPath::test_the_same_seed_gives_the_same_files_and_taints_the_statement",
        ),
    ),
    "P5": (
        "The number of records is protected: a noisy estimate, never the exact one.",
        (
            "contracts/test_record_and_replay.py::TestRecordAndReplay"
            "::test_neighbours_differ_only_within_the_declared_sensitivity",
            "synthesizers/test_end_to_end.py::TestRelease::test_the_number_of_records_is_an_estimate",
            "privacy/doors/test_tables.py::TestSecrecy::test_its_repr_shows_no_count",
            "contracts/test_preprocessing_replay.py::TestRule::test_the_number_of_bins_rests_on_a_noisy_count",
            "contracts/test_canary.py::test_objects_on_the_way_show_no_cell",
        ),
    ),
    "P6": (
        "No raw value is in a release file, a log, an error, a statement or a plan.",
        (
            "contracts/test_canary.py::TestArtifacts::test_nothing_that_a_fit_leaves_holds_a_cell",
            "contracts/test_canary.py::TestArtifacts::test_the_command_line_tells_no_cell",
            "contracts/test_canary.py::test_no_error_quotes_a_cell",
            "contracts/test_canary.py::TestSearch::test_it_finds_what_is_planted",
            "cli/test_exits.py::TestReportFailure::test_the_text_of_a_foreign_error_is_not_shown",
            "table/frames/test_frames.py::TestErrors::test_a_failing_library_is_not_quoted",
            "synthesizers/test_given.py::TestRefusals"
            "::test_cells_that_the_release_cannot_have_are_counted_and_not_shown",
            "table/coding/test_conditions.py::test_a_domain_that_was_read_off_the_data_is_not_shown",
            "privacy/test_mechanisms_sensitive.py::TestPrinting::test_of_a_traceback_with_local_variables_shows_no_value",
        ),
    ),
    "P7": (
        "Domains are public, or paid for, or loudly observed; never silently read off the table.",
        (
            "contracts/test_preprocessing_replay.py::TestRecordAndReplay::test_domains_found_privately",
            "contracts/test_preprocessing_replay.py::TestPlantedBugs::test_bounds_read_off_the_data",
            "contracts/test_text_file_replay.py::test_one_record_changes_nothing_but_the_inputs_of_the_noise",
            "contracts/test_text_file_replay.py::test_a_type_read_off_the_cells_would_be_found",
            "contracts/test_text_file_replay.py::test_so_it_is_where_some_columns_are_declared",
            "contracts/test_preprocessing_replay.py::test_codes_that_are_held_as_categories",
            "cli/test_synth.py::TestDomains"
            "::test_what_a_schema_leaves_out_is_found_only_if_it_says_so_and_is_named",
            "cli/test_synth.py::TestDomains::test_an_observed_schema_without_leave_is_exit_4",
            "cli/test_synth.py::TestDomains::test_observed_domains_work_and_taint_the_statement",
            "cli/test_synth.py::TestDomains::test_no_schema_is_needed_and_the_statement_says_what_was_found",
            "contracts/test_bad_input.py::TestMatrix[observed domains without leave]",
            "prepare/test_private_domain.py::TestFound::test_labels_of_single_records_stay_in",
        ),
    ),
    "P8": (
        "Outcomes do not depend on private values but through recorded noise: no exact decision, no tell-tale error.",
        (
            "contracts/test_record_and_replay.py::TestRecordAndReplay"
            "::test_neighbours_differ_only_within_the_declared_sensitivity",
            "contracts/test_planted_bugs.py::TestPlantedBugs::test_each_is_found",
            "table/coding/test_codec.py::TestPrivacy::test_records_are_encoded_one_by_one",
            "contracts/test_bad_input.py::TestMatrix[no rows]",
            "contracts/test_bad_input.py::TestMatrix[constant column]",
            "table/frames/test_retyping.py::test_they_are_learned_as_missing",
            "table/frames/test_retyping.py::TestObjects::test_what_one_of_them_is_changes_no_other",
            "table/frames/test_retyping.py::TestObjects::test_odd_ones_count_alike_alone_and_beside_any_other",
            "table/frames/test_retyping.py::TestStoredOtherwise::test_no_cell_decides_whether_it_is_read",
            "table/frames/test_frames.py::TestOtherLibraries"
            "::test_no_cell_decides_how_whole_numbers_of_128_bits_are_read",
            "table/frames/test_retyping.py::TestObjects::test_do_not_say_how_the_output_is_stored",
            "prepare/test_found_columns.py::test_its_values_count_as_one_and_a_warning_says_so",
            "marginals/test_counting.py::TestMemory::test_the_prediction_does_not_depend_on_the_rows",
            "table/files/test_declared_cells.py::TestEncoding::test_one_odd_cell_changes_its_own_record_only",
        ),
    ),
    "P9": (
        "Each mechanism has its claim, its sensitivity and an audit that would find too little noise.",
        (
            "statistics/test_primitive_audit.py::TestSeededSource"
            "::test_a_noisy_marginal_is_as_private_as_claimed_and_no_more",
            "statistics/test_primitive_audit.py::TestSeededSource::test_a_choice_is_as_private_as_claimed_and_no_more",
            "statistics/test_primitive_audit.py::TestPlantedBug::test_in_a_noisy_marginal_is_found",
            "statistics/test_preprocessing_audit.py::TestAudits"
            "::test_a_tree_is_as_private_as_claimed_in_both_directions",
            "statistics/test_preprocessing_audit.py::TestPlantedBug::test_in_a_tree_is_found",
            "statistics/test_system_audit.py::TestAudits"
            "::test_a_system_is_as_private_as_claimed_and_the_audit_is_not_blind",
            "statistics/test_system_audit.py::TestAudits::test_half_of_the_noise_is_flagged",
            "privacy/test_mechanisms_split_tree.py::TestProof"
            "::test_all_decisions_on_a_path_cost_less_than_three_over_the_scale",
            "privacy/doors/test_tables.py::TestMeasure"
            "::test_cliques_measured_together_have_their_number_as_squared_sensitivity",
        ),
    ),
    "R1": (
        "Never silently wrong: what comes out has the types, names, order and bounds of the schema.",
        (
            "synthesizers/test_end_to_end.py::TestFrames"
            "::test_the_same_kind_comes_out_with_the_declared_types",
            "synthesizers/test_end_to_end.py::TestFrames"
            "::test_values_keep_to_the_schema_and_missing_ones_come_back",
            "table/test_coded_columns.py::TestNumbers::test_integers_beyond_double_precision_are_exact",
            "table/coding/test_codec.py::TestRoundTrip::test_decoded_codes_encode_to_the_same_codes",
            "table/files/test_files.py::TestRoundTrips::test_every_value_comes_back_exactly_and_in_its_kind",
            "contracts/test_bad_input.py::TestMatrix::test_bad_input_gives_a_clear_error_or_a_right_result",
        ),
    ),
    "R2": (
        "Wrong arguments fail before data is read, with a sentence that names argument and remedy.",
        (
            "contracts/test_bad_input_by_command.py"
            "::test_bad_input_ends_in_one_clear_line_and_leaves_nothing",
            "privacy/test_budget.py::TestNumbers::test_bad_epsilons_are_refused_by_name",
            "cli/test_synth.py::TestArguments::test_other_wrong_options_are_exit_2",
            "cli/test_method_options.py::test_a_wrong_option_is_refused_before_anything_is_spent",
            "select/test_adaptive.py::TestArguments::test_senseless_options_are_refused",
            "select/test_spanning_tree.py::test_a_senseless_threshold_is_refused_before_anything_is_spent",
        ),
    ),
    "R3": (
        "Same version, inputs and seed: same bytes, whatever the number of threads.",
        (
            "contracts/test_same_bytes.py::test_threads_and_processes_change_nothing",
            "contracts/test_every_method.py::TestReleases::test_a_seed_repeats_the_fit_and_another_one_does_not",
            "synthesizers/test_release_file.py::TestRoundTrip::test_the_bytes_depend_on_the_content_alone",
            "synthesizers/test_sample_in_pieces.py::test_a_seed_repeats_the_file",
        ),
    ),
    "R4": (
        "Memory is planned before it is taken; too much is refused with the number and the remedy.",
        (
            "contracts/test_bad_input_by_command.py[too little memory]",
            "contracts/test_bad_input.py::TestMatrix[two columns too wide for a joint]",
            "privacy/doors/test_tables.py::TestMeasure::test_too_much_memory_is_refused_before_anything_is_spent",
            "marginals/test_counting.py::TestMemory"
            "::test_the_prediction_is_an_upper_bound_of_what_is_allocated",
            "models/test_pgm_brute_force.py::TestArguments::test_a_tree_that_is_too_large_names_its_largest_clique",
            "select/test_adaptive.py::TestChoice::test_the_model_stays_within_its_size",
        ),
    ),
    "R5": (
        "An interrupted or killed run leaves the old file or the new one, never half; nothing is drawn twice.",
        (
            "synthesizers/test_killed_fit.py::test_killed_while_it_saves_it_leaves_the_old_file_or_none",
            "synthesizers/test_killed_fit.py::TestWhileSpending"
            "::test_what_was_spent_counts_and_the_rest_is_enough_or_refused",
            "synthesizers/test_killed_fit.py::TestWhileSpending"
            "::test_resumed_it_ends_as_if_it_had_not_been_killed",
            "synthesizers/test_resumed_fit.py::TestBytes::test_are_those_of_a_run_that_never_broke_off",
            "synthesizers/test_resumed_fit.py::TestFullDisk"
            "::test_an_answer_that_could_not_be_written_is_drawn_when_there_is_room",
            "cli/test_resume.py::test_a_killed_command_is_gone_on_with",
            "privacy/test_journal.py::TestFile::test_every_cut_is_survived",
            "table/test_written_files.py::TestAtomicity::test_a_full_disk_leaves_the_old_file",
            "cli/test_synth.py::TestNothingPaidForIsLost"
            "::test_an_interrupt_after_the_fit_leaves_the_release_and_no_half_file",
        ),
    ),
    "R6": (
        "Files carry version and checksums; older ones open, a truncated, foreign or newer one is refused by name.",
        (
            "synthesizers/test_release_file.py::TestDamage::test_every_truncation_is_refused",
            "synthesizers/test_release_file.py::TestDamage::test_a_flipped_bit_is_refused_or_changes_nothing",
            "synthesizers/test_release_file.py::TestHostileFiles::test_a_newer_format_says_upgrade",
            "synthesizers/test_release_file.py::TestHostileFiles::test_a_foreign_zip_is_refused",
            "contracts/test_bad_input.py::TestMatrix[the file of this version loads the same]",
            "synthesizers/test_old_releases.py::test_there_are_files_of_the_present_format",
            "synthesizers/test_old_releases.py::TestFile::test_it_answers_and_draws_what_it_did",
        ),
    ),
    "R7": (
        "Loading executes nothing.",
        (
            "synthesizers/test_release_file.py::TestHostileFiles::test_a_pickle_inside_is_never_opened",
            "synthesizers/test_release_file.py::TestHostileFiles"
            "::test_a_member_with_a_path_out_of_the_archive_is_refused",
            "contracts/test_bad_input_by_command.py[a schema that would run code]",
            "table/schema/test_file.py::TestRefusals::test_any_document_is_a_schema_or_our_error",
            "contracts/test_claims.py::test_nothing_unpickles_or_evaluates",
        ),
    ),
    "R8": (
        "Output that opens in a spreadsheet cannot run.",
        (
            "table/test_written_files.py::TestFormulas::test_text_and_headers_that_would_run_get_an_apostrophe",
            "contracts/test_bad_input.py::TestMatrix[formula text does not run in a spreadsheet]",
        ),
    ),
    "R9": (
        "Large tables work within the stated memory: many rows in pieces, and hundreds of columns.",
        (
            "synthesizers/test_sample_in_pieces.py::test_all_rows_arrive",
            "table/test_written_files.py::TestPieces::test_a_table_in_pieces_is_written_as_if_it_were_whole",
            "contracts/test_bad_input.py::TestMatrix[200 columns]",
            "contracts/test_bad_input.py::TestMatrix[2,000 columns]",
            "contracts/test_bad_input.py::TestMatrix[100,000 categories]",
            "marginals/test_counting.py::TestCover"
            "::test_all_pairs_of_ten_columns_come_from_ten_histograms_at_most",
        ),
    ),
}


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of a file's test functions, methods with their class in front, and its test classes."""
    names: set[str] = set()
    for node in ast.parse((TESTS / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            names.add(node.name)
            inner = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
            names.update(f"{node.name}::{name}" for name in inner if name.startswith("test"))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            names.add(node.name)
    return frozenset(names)


def resolves(test_id: str) -> bool:
    """Say whether there is such a test."""
    address, _, case = test_id.removesuffix("]").partition("[")
    path, _, name = address.partition("::")
    if not (TESTS / path).is_file():
        return False
    # The cases of a matrix may lie in a folder of its name.
    cases = (TESTS / path).parent / Path(path).stem.removeprefix("test_")
    texts = [file.read_text(encoding="utf-8") for file in (TESTS / path, *sorted(cases.glob("*.py")))]
    return (not name or name in names_in(path)) and (not case or any(f'"{case}"' in text for text in texts))


def test_every_promise_has_its_tests() -> None:
    assert list(CLAIMS) == [f"P{i}" for i in range(1, 10)] + [f"R{i}" for i in range(1, 10)]
    for promise, held_by in CLAIMS.values():
        assert promise.endswith(".")
        assert len(held_by) == len(set(held_by)) >= 2


def test_the_tests_that_hold_a_promise_exist() -> None:
    missing = {
        claim: [test_id for test_id in held_by if not resolves(test_id)]
        for claim, (_, held_by) in CLAIMS.items()
    }

    assert {claim: test_ids for claim, test_ids in missing.items() if test_ids} == {}


def test_a_test_that_does_not_exist_is_noticed() -> None:
    for wrong in [
        "contracts/test_nothing.py::test_x",
        "contracts/test_claims.py::test_that_is_not_there",
        "contracts/test_claims.py::TestNone::test_every_promise_has_its_tests",
        "contracts/test_bad_input.py::TestMatrix[a case that is " + "not there]",
    ]:
        assert not resolves(wrong)


# What the driver of a Spark job itself packs for its workers, which run its code anyway; no file is opened so.
SENT_TO_WORKERS = "syntabula/table/parts/spark_tasks.py"
FORBIDDEN = {"pickle", "joblib", "cloudpickle", "dill", "marshal", "shelve"}


def unsafe(program: str) -> list[str]:
    """List what a program imports or calls that unpickles or evaluates."""
    found = []
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module] if node.module.split(".")[0] in FORBIDDEN else []
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            values = {k.arg: ast.unparse(k.value) for k in node.keywords}
            found += [called] if called in ("eval", "exec", "compile", "__import__", "torch.load") else []
            found += [called] if values.get("allow_pickle") == "True" else []
            found += [called] if called == "yaml.load" and "Loader" not in values else []
    return found


@pytest.mark.thorough
def test_nothing_unpickles_or_evaluates() -> None:
    source = TESTS.parent / "src"

    found = {
        path.relative_to(source).as_posix(): unsafe(path.read_text(encoding="utf-8"))
        for path in source.rglob("*.py")
    }

    assert "syntabula/synthesizers/release_file.py" in found
    assert {path: names for path, names in found.items() if names and path != SENT_TO_WORKERS} == {}


@pytest.mark.parametrize(
    "program",
    [
        "import pickle",
        "from joblib.numpy_pickle import load",
        "eval('1')",
        "import torch\ntorch.load('x')",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import yaml\nyaml.load('x')",
    ],
)
def test_a_planted_call_is_found(program: str) -> None:
    assert unsafe(program)
