//! Orca's recorded executions, carried to their end against us.

use spindrift_tests::spinnaker::{
    Orca, Pace, RecordedCall, StageSpec, differences_of_calls, differences_of_outcome, recorded,
};

use crate::{TURN, accepted, cluster_state::ClusterState, world::World};

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_stage_of_orca_ends_as_it_did() {
    let _turn = TURN.lock().await;
    let world = World::start().await;
    let state = ClusterState::new(&world.cluster);
    let all_calls = recorded::calls_of_orca();
    let mut differing = Vec::new();
    for execution in recorded::executions() {
        state.at_rest().await;
        let stages = execution.stages.iter().filter(|stage| stage.synthetic_stage_owner.is_none());
        let stages =
            stages.map(|stage| StageSpec { kind: stage.r#type.clone(), context: stage.given.clone() });

        let ours = Orca::new(world.hub.url(), &execution.application, Pace::QUICK).run(stages).await;

        let of_it = |call: &&RecordedCall| call.execution.as_ref() == Some(&execution.name);
        let calls: Vec<_> = all_calls.iter().filter(of_it).cloned().collect();
        let mut differences = differences_of_outcome(&execution, &ours);
        differences.extend(differences_of_calls(&calls, &ours.calls));
        println!("{}: {}, {} calls", execution.name, ours.status.as_str(), ours.calls.len());
        for difference in differences.iter().filter(|it| !accepted::is_accepted_of_orca(&it.path)) {
            differing.push(format!("{}{difference}", execution.name));
        }
    }
    println!("figure conformance-stages-differing = {} (goal 0)", differing.len());
    assert_eq!(differing.join("\n"), "");
}
