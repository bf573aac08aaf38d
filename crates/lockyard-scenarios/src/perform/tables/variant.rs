//! Choosing a type by the variant that a table names.

/// `$body` with the variant that `$table` names, `locked` or `rcu`, as the type `$variant`. The
/// type is that of the same name where the macro is used.
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
