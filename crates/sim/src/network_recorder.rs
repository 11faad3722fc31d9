//! The event log and the capture of a network that another driver drives.

use std::io;

use driftway_base::NodeId;
use driftway_net::{Event, Network};

use crate::capture::Capture;
use crate::log::EventLog;
use crate::observers::Observers;
use crate::{network_log, position_log};

/// Records a network in the same files as a run of the simulator. Packets belong to no flow.
pub struct NetworkRecorder {
    log: Option<EventLog>,
    capture: Option<Capture>,
}

impl NetworkRecorder {
    /// Creates a recorder with these outputs.
    pub fn new(log: Option<EventLog>, capture: Option<Capture>) -> Self {
        Self { log: log.map(EventLog::without_flows), capture }
    }

    /// Prepares for a network that has not started.
    pub fn on_start(&mut self, net: &Network) {
        if let Some(log) = &mut self.log {
            log.expect_frames(net.recorded_airs());
        }
    }

    /// Records an event. `bytes` are those of its packet, if they are known.
    pub fn on_event(&mut self, net: &Network, event: &Event, bytes: Option<&[u8]>) {
        if let Some(capture) = &mut self.capture {
            capture.set_contents(bytes);
        }
        let (log, capture) = (self.log.as_mut(), self.capture.as_mut());
        let mut observers = Observers { log, capture, ..Observers::default() };
        match event {
            Event::Fault { kind, place, begins } => {
                observers.fault(net.now(), *kind, *place, *begins);
            }
            other => network_log::record(&mut observers, net, other),
        }
    }

    /// Records positions, if some are due at the present time of the network.
    pub fn on_time(&mut self, net: &mut Network) {
        let Some(log) = self.log.as_mut().filter(|_| net.has_radios()) else { return };
        let now = net.now();
        if log.take_positions_due(now).is_none() {
            return;
        }
        // One row is enough for a driver that is late.
        while log.take_positions_due(now).is_some() {}
        for node in (0..net.nodes()).map(NodeId::from) {
            if let Some((x, y)) = net.position(node, now) {
                log.record(position_log::position(now, node, x, y));
            }
        }
    }

    /// Ends the log and the capture: the outcomes of writing them.
    pub fn finish(self) -> (Option<io::Result<()>>, Option<io::Result<()>>) {
        (self.log.map(EventLog::finish), self.capture.map(Capture::finish))
    }
}
