//! The variant for counts that cannot be zero has no `get_not_zero`.

use lockyard::page_ref::{PageRef, Xadd};

fn main() {
    let page = PageRef::<Xadd>::new(1);
    assert!(page.get_not_zero());
}
