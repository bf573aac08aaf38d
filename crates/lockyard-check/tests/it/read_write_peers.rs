//! Checks under weak memory of the reader-writer locks for comparison. No reader is inside beside a
//! writer, no two writers are, and each thread that sleeps is woken.

use lockyard::platform::checked::{Checked, Parking, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard::rwlock::{ParkingReadWrite, ReadWrite};
use lockyard_check::FewSlots;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::must_hold;
use lockyard_check::program::AnyReadWriteProgram;
use lockyard_check::program::ReadWriteOp::{Read, Write, WriteTwice};

type InModel = Hooked<Checked, Scripted>;

fn holds<L: ReadWrite<InModel>>(title: &str) {
    type P<L> = AnyReadWriteProgram<L, InModel>;
    for pair in [[Write, Write], [Write, Read], [WriteTwice, Read], [WriteTwice, Write]] {
        must_hold::<P<L>>(title, &pair, Bounds::stepping_back(3));
    }
    for three in [[Write, Write, Read], [Write, Read, Read], [Write, Write, Write]] {
        let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
        must_hold::<P<L>>(title, &three, bounds);
    }
    with_parking(Parking::SpuriousOnce, || {
        for pair in [[Write, Write], [Write, Read]] {
            must_hold::<P<L>>(title, &pair, Bounds::stepping_back(2));
        }
    });
}

/// Checks one lock. The library's own has more operations, and a file for them.
macro_rules! holds {
    (ReadWrite $name:literal $lock:ident) => {};
    (ShardedReadWrite $name:literal $lock:ident) => {};
    ($kind:ident $name:literal $lock:ident) => {
        #[test]
        #[allow(non_snake_case)]
        fn $kind() {
            holds::<lockyard::rwlock::$lock<InModel>>($name);
        }
    };
}

macro_rules! every_lock {
    ($($kind:ident {
        name: $name:literal, title: $title:literal, lock: $lock:ident, $($fact:tt)*
    })*) => {
        $(holds!($kind $name $lock);)*
    };
}
lockyard::for_each_rwlock!(every_lock);

#[test]
fn the_lock_as_parking_lot_s_holds_without_nodes() {
    type One = FewSlots<InModel, 1>;
    type P = AnyReadWriteProgram<ParkingReadWrite<One>, One>;
    for pair in [[Write, Write], [Write, Read]] {
        must_hold::<P>("the same, one slot", &pair, Bounds::stepping_back(2));
    }
}
