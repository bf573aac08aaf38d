//! Choice of a type by the variant that a table names.

/// Evaluates `$body` with `$variant` as the type of the variant that `$table` names, `locked` or
/// `rcu`. The types are `Locked` and `Rcu` in the caller's scope.
macro_rules! locked_or_rcu {
    ($table:expr, $variant:ident => $body:expr) => {
        match $table.name("variant") {
            "locked" => {
                type $variant = Locked;
                $body
            }
            _ => {
                type $variant = Rcu;
                $body
            }
        }
    };
}

pub(super) use locked_or_rcu;
