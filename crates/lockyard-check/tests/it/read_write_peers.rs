//! Checks under weak memory of the reader-writer locks that are there for comparison. No reader is
//! inside beside a writer, no two writers are, and each thread that sleeps is woken.

use lockyard::platform::checked::{Checked, Parking, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard::rwlock::{ParkingReadWrite, PthreadReadWrite, ReadWrite, StdReadWrite};
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

#[test]
fn the_lock_as_std_s_holds() {
    holds::<StdReadWrite<InModel>>("reader-writer lock as std's");
}

#[test]
fn the_lock_as_parking_lot_s_holds() {
    holds::<ParkingReadWrite<InModel>>("reader-writer lock as parking_lot's");
}

#[test]
fn the_lock_as_parking_lot_s_holds_without_nodes() {
    type One = FewSlots<InModel, 1>;
    type P = AnyReadWriteProgram<ParkingReadWrite<One>, One>;
    for pair in [[Write, Write], [Write, Read]] {
        must_hold::<P>("the same, one slot", &pair, Bounds::stepping_back(2));
    }
}

#[test]
fn the_lock_as_pthread_s_holds() {
    holds::<PthreadReadWrite<InModel>>("reader-writer lock as pthread's");
}
