//! Tables.

#[test]
fn a_table_of_what_lives_long_given_what_does_not() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/tables/connections_of_what_lives_shorter.rs");
    cases.compile_fail("tests/ui/tables/buffers_of_what_lives_shorter.rs");
}

#[test]
fn a_table_as_one_with_other_parameters() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/tables/variance.rs");
}
