//! One cache line, as its home agent sees it, and the numbers of its core lines.

use crate::engine::line::{HomeRequest, NO_CORE_LINE};

/// One cache line.
pub(crate) struct Line {
    /// The domain that is the line's home.
    home: u16,
    /// Number of each core's core line. Cores that never needed the line have [`NO_CORE_LINE`], or
    /// no entry if they are beyond the end.
    core_lines: Vec<u32>,
    /// Domains that wait for the home agent.
    queue: Vec<HomeRequest>,
    busy: bool,
    /// Time when the last idle socket answers that it does not have the line being granted. 0: no
    /// answer is missing.
    settled_at: u64,
    /// State of the directory: a socket other than the home's was granted the line, and since then
    /// the home's own socket was not granted it exclusively.
    away: bool,
    /// No domain has used the line, and its home's last-level cache has it.
    at_home: bool,
    /// The line's value in memory is out of date.
    dirty: bool,
}

impl Line {
    /// Returns a line that no core has, and that its home's last-level cache may have.
    pub(super) fn new(home: u16, at_home: bool) -> Self {
        Line {
            home,
            core_lines: Vec::new(),
            queue: Vec::new(),
            busy: false,
            settled_at: 0,
            away: false,
            at_home,
            dirty: false,
        }
    }

    #[inline]
    pub(crate) fn home(&self) -> u16 {
        self.home
    }

    /// Queues a domain's request at the home agent.
    #[inline]
    pub(crate) fn enqueue(&mut self, request: HomeRequest) {
        self.queue.push(request);
    }

    /// Ends the service of a domain.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.busy = false;
    }

    /// Takes the next domain's request, if the home agent is free. `draw` chooses one of the
    /// waiting requests, given their number.
    #[inline]
    pub(crate) fn next(&mut self, draw: impl FnOnce(usize) -> usize) -> Option<HomeRequest> {
        if self.busy || self.queue.is_empty() {
            return None;
        }
        self.busy = true;
        Some(self.queue.remove(draw(self.queue.len())))
    }

    /// Returns `true` if the home agent has no request.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy && self.queue.is_empty()
    }

    /// Time when the last idle socket answers; 0 if no answer is missing.
    #[inline]
    pub(crate) fn settled_at(&self) -> u64 {
        self.settled_at
    }

    #[inline]
    pub(crate) fn settle_at(&mut self, time: u64) {
        self.settled_at = time;
    }

    /// Returns `true` if another socket than the home's may have the line.
    #[inline]
    pub(crate) fn is_away(&self) -> bool {
        self.away
    }

    /// Records a grant to a domain of the home's socket, if `near`, or of another socket.
    #[inline]
    pub(crate) fn note_grant(&mut self, near: bool, exclusive: bool) {
        if !near {
            self.away = true;
        } else if exclusive {
            self.away = false;
        }
    }

    /// Records the first use by a domain, or that the line leaves its home's last-level cache.
    /// Returns `true` if the line was in that cache.
    #[inline]
    pub(crate) fn leave_home(&mut self) -> bool {
        std::mem::take(&mut self.at_home)
    }

    /// Records that the line's value in memory is out of date.
    #[inline(always)]
    pub(crate) fn make_dirty(&mut self) {
        self.dirty = true;
    }

    /// Records that memory has the line's value. Returns `true` if the value had to be written.
    #[inline]
    pub(crate) fn clean(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Number of a core's core line, if it has one.
    #[inline(always)]
    pub(crate) fn core_line(&self, core: u16) -> Option<u32> {
        self.core_lines.get(core as usize).copied().filter(|&core_line| core_line != NO_CORE_LINE)
    }

    pub(crate) fn set_core_line(&mut self, core: u16, core_line: u32) {
        let core = core as usize;
        if self.core_lines.len() <= core {
            // Of a million lines, most are used by only one core.
            self.core_lines.reserve_exact(core + 1 - self.core_lines.len());
            self.core_lines.resize(core + 1, NO_CORE_LINE);
        }
        self.core_lines[core] = core_line;
    }

    /// Returns the numbers of the core lines that exist, in order of cores.
    pub(crate) fn known_core_lines(&self) -> impl Iterator<Item = u32> {
        self.core_lines.iter().copied().filter(|&core_line| core_line != NO_CORE_LINE)
    }
}
