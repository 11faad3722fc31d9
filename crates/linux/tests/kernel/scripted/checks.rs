//! Checks of the comparison and of the transcripts, which need no kernel.

use super::arm;
use super::compare::{Aspect, Comparison};
use super::differences::judge;
use super::record::{Kind, Line};
use super::scripts;
use super::simulated::SimulatedArm;
use super::transcript::Transcript;

pub fn each_kind_of_difference_is_found() {
    let script = scripts::all().into_iter().find(|script| script.name == "tail_loss");
    let script = script.expect("a script of this name");
    let record = arm::run(&script, &mut SimulatedArm::new(&script));
    let lines = &record.lines;
    let last = |kind| lines.iter().rposition(|line| line.kind == kind).expect("such a line");
    let (sent, window, step) = (last(Kind::Sent), last(Kind::Window), last(Kind::Step));
    let after = lines[step].at as u64;
    let found = |change: &dyn Fn(&mut Vec<Line>)| {
        let mut other = record.clone();
        change(&mut other.lines);
        Comparison::new(&record, &other).differences()
    };
    assert_eq!(found(&|_| ()), []);
    assert_eq!(found(&|lines| lines[sent].text.insert(0, 'x')), [(Aspect::Segments, after)]);
    assert_eq!(found(&|lines| _ = lines.remove(sent)), [(Aspect::Segments, after)]);
    // Of paced data it makes no difference on which side of a step at the same time a segment leaves.
    let mut swapped = record.clone();
    let (first, then) = lines
        .windows(2)
        .position(|two| {
            two[0].kind == Kind::Step && two[1].kind == Kind::Sent && two[1].at - two[0].at < 1.0
        })
        .map(|at| (at, at + 1))
        .expect("a segment that answers a step");
    swapped.lines.swap(first, then);
    assert!(!Comparison::new(&record, &swapped).differences().is_empty());
    assert_eq!(Comparison::paced(&record, &swapped).differences(), []);
    assert_eq!(found(&|lines| lines[window].text.push('x')), [(Aspect::Window, after)]);
    // Timers may be late by an eighth, in either arm.
    let gap = lines[sent].at - lines[sent - 1].at;
    assert_eq!(found(&|lines| lines[sent].at += gap / 8.0), []);
    assert_eq!(found(&|lines| lines[sent].at += gap / 4.0), [(Aspect::Time, after)]);
    assert_eq!(found(&|lines| lines[sent].at -= gap / 8.0), []);
    assert_eq!(found(&|lines| lines[sent].at -= gap / 4.0), [(Aspect::Time, after)]);

    let judged = judge(&[(Aspect::Time, 7)], &[(Aspect::Window, 7)]).unwrap_err();
    assert_eq!(judged, "new differences [(Time, 7)], listed but not found [(Window, 7)]");
    assert_eq!(judge(&[(Aspect::Time, 7)], &[(Aspect::Time, 7)]), Ok(()));
}

pub fn a_transcript_is_read_as_it_was_written() {
    for script in scripts::all() {
        let mut record = arm::run(&script, &mut SimulatedArm::new(&script));
        let transcript = Transcript { kernel: "6.18".to_owned(), record: record.clone() };
        let read = Transcript::parse(&transcript.text()).expect("it is readable");
        for line in &mut record.lines {
            line.note.clear();
            line.at = line.at.round_ties_even();
        }
        assert_eq!((read.kernel, read.record.lines), (transcript.kernel, record.lines));
    }
    assert!(Transcript::parse("# Linux 6.18\n0.0 ? what\n").is_none());
}
