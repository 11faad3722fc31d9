//! The base class of aids: what an aid sees, and the acts by which it changes its connection.

use std::collections::VecDeque;

use driftway::base::{Act, Assign, ProbeSize, ProbeSpacing, Seq, SeqRange};
use driftway::{Duration, Instant, TcpView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::view::View;
use super::{acts, intern};

/// The base class of aids, which `driftway.aid` adds to a class.
#[pyclass(subclass, module = "driftway._driftway")]
pub struct Aid {
    /// The time of the event.
    pub(super) now: Instant,
    /// The connection at the event.
    pub(super) view: TcpView,
    /// Requested acts.
    pub(super) acts: VecDeque<Act>,
    /// The time of `on_timeout`.
    pub(super) timer: Option<Instant>,
    /// The name of the state.
    pub(super) state: &'static str,
    /// The aid considers the connection disconnected.
    pub(super) is_disconnected: bool,
    /// The flow and the end of its connection.
    pub(super) flow: u32,
    pub(super) end: &'static str,
}

/// The name of the state of an aid that has not named one.
const INITIAL: &str = "initial";

#[pymethods]
impl Aid {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            now: Instant::ZERO,
            view: TcpView::default(),
            acts: VecDeque::new(),
            timer: None,
            state: INITIAL,
            is_disconnected: false,
            flow: 0,
            end: "sender",
        }
    }

    /// The simulated time of the event (s).
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// The simulated time of the event (ns).
    #[getter]
    const fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// The connection at the event.
    #[getter]
    const fn view(&self) -> View {
        View(self.view)
    }

    /// The flow, by its index in the scenario, from 0.
    #[getter]
    const fn flow(&self) -> u32 {
        self.flow
    }

    /// The end of the connection: `"sender"`, `"receiver"`, `"wireless-leg"` or `"wired-leg"`.
    #[getter]
    const fn end(&self) -> &'static str {
        self.end
    }

    /// The name of the state, for event logs and traces.
    #[getter]
    const fn state(&self) -> &'static str {
        self.state
    }

    #[setter]
    fn set_state(&mut self, name: &str) -> PyResult<()> {
        self.state = intern(name)?;
        Ok(())
    }

    /// True if the aid considers the connection disconnected; results count this time.
    #[getter]
    const fn is_disconnected(&self) -> bool {
        self.is_disconnected
    }

    #[setter]
    const fn set_is_disconnected(&mut self, is_disconnected: bool) {
        self.is_disconnected = is_disconnected;
    }

    /// Starts the timer, or restarts it: `on_timeout` is called after this time (s).
    fn set_timer(&mut self, delay_s: f64) -> PyResult<()> {
        self.timer = Some(self.now + acts::seconds("delay_s", delay_s)?);
        Ok(())
    }

    /// Stops the timer.
    const fn cancel_timer(&mut self) {
        self.timer = None;
    }

    /// Makes TCP send nothing but probes.
    #[pyo3(signature = (*, probe_first_s = None, probe_max_s = None, probe_segment = false,
        rewind_snd_nxt = false, timers = "stop", cwnd_bytes = None, release = "any-ack"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn hold(
        &mut self,
        probe_first_s: Option<f64>,
        probe_max_s: Option<f64>,
        probe_segment: bool,
        rewind_snd_nxt: bool,
        timers: &str,
        cwnd_bytes: Option<&Bound<'_, PyAny>>,
        release: &str,
    ) -> PyResult<()> {
        let probe = probe_first_s.map(|first| -> PyResult<ProbeSpacing> {
            let first = acts::seconds("probe_first_s", first)?;
            let max = probe_max_s.map(|max| acts::seconds("probe_max_s", max)).transpose()?;
            let size = if probe_segment { ProbeSize::Segment } else { ProbeSize::Byte };
            let max = max.unwrap_or(first);
            if first.is_zero() || max < first {
                let message = "probes: 0 s < probe_first_s ≤ probe_max_s";
                return Err(PyValueError::new_err(message));
            }
            Ok(ProbeSpacing { first, max, size })
        });
        self.acts.push_back(Act::Hold {
            probe: probe.transpose()?,
            rewind_snd_nxt,
            timers: acts::timers(timers)?,
            cwnd: acts::bytes("cwnd_bytes", cwnd_bytes)?,
            release: acts::release(release)?,
        });
        Ok(())
    }

    /// Ends a hold, and sets variables of TCP.
    #[pyo3(signature = (*, cwnd_bytes = None, ssthresh_bytes = None, rto_s = None))]
    fn resume(
        &mut self,
        cwnd_bytes: Option<&Bound<'_, PyAny>>,
        ssthresh_bytes: Option<&Bound<'_, PyAny>>,
        rto_s: Option<f64>,
    ) -> PyResult<()> {
        let rto = rto_s.map(|rto| acts::seconds("rto_s", rto).map(Assign::Value)).transpose()?;
        self.acts.push_back(Act::Resume {
            cwnd: acts::bytes("cwnd_bytes", cwnd_bytes)?,
            ssthresh: acts::bytes("ssthresh_bytes", ssthresh_bytes)?,
            rto: rto.unwrap_or(Assign::<Duration>::Keep),
        });
        Ok(())
    }

    /// Retransmits the data from `start` to before `end`, as far as it is outstanding.
    #[pyo3(signature = (start, end, *, ahead_of_queue = false))]
    fn resend(&mut self, start: u32, end: u32, ahead_of_queue: bool) {
        let range = SeqRange::new(Seq(start), Seq(end));
        self.acts.push_back(Act::Resend { range, ahead_of_queue });
    }

    /// Restores the window and the threshold to their values before the last reduction.
    fn undo(&mut self) {
        self.acts.push_back(Act::Undo);
    }

    /// Performs the response to congestion now.
    fn reduce_cwnd(&mut self) {
        self.acts.push_back(Act::ReduceCwnd);
    }

    /// Sets what TCP does at its next retransmission timeout.
    #[pyo3(signature = (*, keep_rto = false, retransmit = "loss-recovery", cwnd_bytes = None,
        ssthresh_bytes = None))]
    fn set_timeout_response(
        &mut self,
        keep_rto: bool,
        retransmit: &str,
        cwnd_bytes: Option<&Bound<'_, PyAny>>,
        ssthresh_bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.acts.push_back(Act::SetTimeoutResponse {
            keep_rto,
            retransmit: acts::retransmit(retransmit)?,
            cwnd: acts::bytes("cwnd_bytes", cwnd_bytes)?,
            ssthresh: acts::bytes("ssthresh_bytes", ssthresh_bytes)?,
        });
        Ok(())
    }

    /// Limits the amount of outstanding data (bytes); `None`: no limit.
    fn limit_cwnd(&mut self, cwnd_bytes: Option<u32>) {
        self.acts.push_back(Act::LimitCwnd { cwnd: cwnd_bytes });
    }

    /// Sends acknowledgments to the peer: of RCV.NXT, with the largest window, unless others are given.
    #[pyo3(signature = (copies = 1, *, ack = None, window_bytes = None))]
    fn send_acks(
        &mut self,
        copies: u8,
        ack: Option<u32>,
        window_bytes: Option<u32>,
    ) -> PyResult<()> {
        let known = ack.map(Seq).or_else(|| self.view.rcv_nxt.value());
        let ack = known.ok_or_else(|| PyValueError::new_err("ack: RCV.NXT is not known"))?;
        let window = window_bytes.unwrap_or(u32::MAX);
        self.acts.push_back(Act::SendAcks { ack, window, copies });
        Ok(())
    }

    /// Probes the route to the peer: `"repeated"`, `"single"` or `"off"`.
    fn probe_route(&mut self, how: &str) -> PyResult<()> {
        self.acts.push_back(Act::ProbeRoute(acts::route_probe(how)?));
        Ok(())
    }
}
