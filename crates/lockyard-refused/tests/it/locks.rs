//! Locks, counts and their words.

#[test]
fn operations_of_a_width_that_a_word_does_not_have() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/part_as_wide_as_its_word.rs");
}

#[test]
fn a_count_that_two_threads_change_through_one_guard() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/guard_shared_between_threads.rs");
}

#[test]
fn a_lock_in_a_word_that_is_too_small_for_it() {
    // The check happens when the lock's code is generated, so this case must be built. `trybuild`
    // builds all cases if one of them must pass.
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/uses_both.rs");
    cases.compile_fail("tests/ui/lockyard/small_lock_on_a_large_host.rs");
    cases.compile_fail("tests/ui/lockyard/queue_in_two_bytes.rs");
}

#[test]
fn a_look_up_of_a_page_that_cannot_refuse() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/look_up_where_zero_cannot_happen.rs");
}

#[test]
fn safe_code_that_changes_the_words_of_a_lock() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/queue_node_written_to.rs");
    cases.compile_fail("tests/ui/lockyard/announcement_written_to.rs");
    cases.compile_fail("tests/ui/lockyard/lock_in_a_foreign_word.rs");
}

#[test]
fn a_lock_as_one_with_other_parameters() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/variance.rs");
    cases.compile_fail("tests/ui/lockyard/variance_of_hosts.rs");
}

#[test]
fn a_lock_of_one_kind_as_one_of_another() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/kinds_lock_as_another.rs");
    cases.compile_fail("tests/ui/lockyard/kinds_choices_mixed.rs");
    cases.compile_fail("tests/ui/lockyard/kinds_choice_of_no_static.rs");
}

#[test]
fn a_lock_that_is_released_as_one_of_another_kind() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/kinds_released_by_another.rs");
}

#[test]
fn a_lock_that_is_used_after_its_release() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/lockyard/kinds_used_after_release.rs");
}
