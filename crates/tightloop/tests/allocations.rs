//! Nothing is allocated per packet once a run is under way.

mod worlds;

use tightloop::event::Log;
use tightloop::scenario::Scenario;
use tightloop::traffic::TrafficSettings;
use tightloop::units::Time;

/// Allocations in the second and in the third ten seconds of a run.
fn allocations(scenario: &Scenario) -> [u64; 2] {
    let mut world = scenario.build(&|_| None).expect("a good scenario").world;
    world.run(Time::from_secs(10), &mut Log::off());
    [20, 30].map(|until| {
        let before = world.packets();
        let counted = allocation_counter::measure(|| {
            world.run(Time::from_secs(until), &mut Log::off());
        });
        assert!(world.packets() - before > 10_000);
        counted.count_total
    })
}

#[test]
fn a_bulk_flow_allocates_nothing_per_packet() {
    let mut scenario = Scenario::single("cubic");
    scenario.flow[0].traffic = Some(TrafficSettings::Bulk {});
    let [second, third] = allocations(&scenario);
    // A drop takes a datagram out of circulation, and a lost run may grow a
    // ring: dozens in 16,000 packets, not one each.
    assert!(second < 200 && third < 200, "{second} then {third}");
}

#[test]
fn video_flows_allocate_nothing_per_packet() {
    for cc in ["sqp", "copa"] {
        let [second, third] = allocations(&Scenario::single(cc));
        assert!(second < 200 && third < 200, "{cc}: {second} then {third}");
    }
}
