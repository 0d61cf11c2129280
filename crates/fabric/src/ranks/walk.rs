//! The ranks of one side while a scenario is simulated.

use super::board::{Letter, News, heard};
use super::plan::Lane;
use super::{CollectiveTimes, Content, MessageOf, MessageSent, RankOutcome, RankRun};
use sojourn_core::{Span, Time};
use sojourn_training::collective::{Cursor, Shape};
use sojourn_training::program::{Call, Event, Execution, NodeId, NodeTimes, Op, RankWalk};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What the engine has to tell a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// A flow has something to send.
    Send { at: Time, flow: u32 },
    /// A rank has something to do.
    Look { at: Time, rank: u32 },
}

/// The ranks of one side.
#[derive(Debug)]
pub(crate) struct Ranks<'a> {
    run: &'a RankRun,
    side: usize,
    /// The side of each rank.
    sides: Vec<usize>,
    window: Span,
    states: Vec<Option<Box<Rank>>>,
    /// Of each connection how many messages have come, and one past the last packet of the next one; 0 where that is
    /// not known.
    came: Vec<u32>,
    awaited: Vec<u32>,
    /// Of each connection how many messages were acknowledged.
    acknowledged: Vec<u32>,
    /// Of each connection one past the last packet that its transport was told of.
    sent: Vec<u32>,
    /// What the host that is visited, or this side, has to be told.
    pub(crate) notes: Vec<Note>,
    /// When letters that this side has left take effect.
    left: BinaryHeap<Reverse<Time>>,
    letters: Vec<Letter>,
    /// Ranks of this side that have done everything.
    pub(crate) done: usize,
    outcome: RankOutcome,
}

/// One rank.
#[derive(Debug)]
struct Rank {
    walk: RankWalk,
    /// Nodes that are not done.
    left: usize,
    /// When each stream is free.
    streams: Vec<Time>,
    /// What will happen at times that are known.
    due: BinaryHeap<Reverse<(Time, Due)>>,
    under_way: Vec<UnderWay>,
    /// Arrivals of collectives that it has not joined: channels and counters, by call and tag.
    early: BTreeMap<(u32, u32), Vec<(u8, u32)>>,
    /// Collectives of the server that it has joined: call, tag and node.
    joined: Vec<(u32, u32, NodeId)>,
    ready: Vec<NodeId>,
    /// Messages that it has sent over the network.
    handed_over: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A node ends.
    Ends(NodeId),
    Hears(News),
}

/// A collective that a rank sends and receives messages of.
#[derive(Debug)]
struct UnderWay {
    call: u32,
    tag: u32,
    node: NodeId,
    group: u32,
    shape: Shape,
    channels: Vec<Cursor>,
}

impl<'a> Ranks<'a> {
    /// The ranks of `run` on `side`, before anything has happened; `window` is the length of a window, and `side_of`
    /// tells the side of each host.
    pub(crate) fn new(
        run: &'a RankRun,
        side: usize,
        side_of: impl Fn(u16) -> usize,
        window: Span,
    ) -> Ranks<'a> {
        let program = run.plan.program();
        let side_of = |rank| side_of(run.plan.host(rank));
        let sides: Vec<usize> = (0..program.ranks()).map(side_of).collect();
        let own = |rank: u32| sides[rank as usize] == side;
        let state = |rank: u32| {
            let graph = program.graph(rank);
            let mut ready = Vec::new();
            let walk = RankWalk::new(graph);
            walk.start(graph, &mut ready);
            ready.reverse();
            Box::new(Rank {
                walk,
                left: graph.len(),
                streams: Vec::new(),
                due: BinaryHeap::new(),
                under_way: Vec::new(),
                early: BTreeMap::new(),
                joined: Vec::new(),
                ready,
                handed_over: 0,
            })
        };
        let ranks = 0..program.ranks();
        let states: Vec<_> = ranks.clone().map(|rank| own(rank).then(|| state(rank))).collect();
        let nodes = ranks.clone().map(|rank| match own(rank) {
            true => NodeTimes::new(program.graph(rank).len()),
            false => NodeTimes::default(),
        });
        let nodes = nodes.collect();
        let begins =
            ranks.filter(|&rank| own(rank)).map(|rank| Note::Look { at: Time::ZERO, rank });
        Ranks {
            run,
            side,
            window,
            came: vec![0; run.plan.lanes().len()],
            awaited: vec![0; run.plan.lanes().len()],
            acknowledged: vec![0; run.plan.lanes().len()],
            sent: vec![0; run.plan.lanes().len()],
            notes: begins.collect(),
            left: BinaryHeap::new(),
            letters: Vec::new(),
            done: 0,
            outcome: RankOutcome::new(nodes, program.calls().len()),
            states,
            sides,
        }
    }

    /// The host of a note.
    pub(crate) fn host(&self, note: Note) -> u16 {
        let plan = &self.run.plan;
        match note {
            Note::Send { flow, .. } => plan.host(self.lane(flow).from),
            Note::Look { rank, .. } => plan.host(rank),
        }
    }

    /// Whether `flow` is a connection of ranks.
    #[inline]
    pub(crate) fn has(&self, flow: u32) -> bool {
        flow >= self.run.first
    }

    /// One past the last packet of the connection `flow` that may be sent; none if its transport was told of it.
    pub(crate) fn next_end(&mut self, flow: u32) -> Option<u32> {
        let end = self.run.connections.end(flow);
        let before = std::mem::replace(&mut self.sent[(flow - self.run.first) as usize], end);
        (end > before).then_some(end)
    }

    /// The place of what `flow` sends next among all messages of its rank; none if it is no connection.
    pub(crate) fn order(&self, flow: u32) -> Option<u32> {
        self.run.connections.order(flow)
    }

    /// How many ranks there are, and how many are on this side.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [self.states.len(), self.states.iter().flatten().count()]
    }

    /// The connection that `flow` is.
    fn lane(&self, flow: u32) -> Lane {
        self.run.plan.lanes()[(flow - self.run.first) as usize]
    }

    /// Has `rank` do what is due at `now`.
    pub(crate) fn look(&mut self, rank: u32, now: Time) {
        while let Some(&Reverse((at, due))) = self.rank(rank).due.peek()
            && at <= now
        {
            self.rank(rank).due.pop();
            match due {
                Due::Ends(node) => self.finish(rank, node, now),
                Due::Hears(News::Came { from, tag }) => self.deliver(rank, from, tag, now),
                Due::Hears(News::Step { call, tag, channel, slot }) => {
                    self.step_came(rank, (call, tag), (channel, slot), now);
                }
                Due::Hears(News::Over { call, tag }) => {
                    let joined = &mut self.rank(rank).joined;
                    let place = joined.iter().position(|own| (own.0, own.1) == (call, tag));
                    let place = place.expect("it has joined what is over");
                    let (_, _, node) = joined.swap_remove(place);
                    self.finish(rank, node, now);
                }
            }
        }
        self.go_on(rank, now);
    }

    /// The receiver of `flow`, if it is a connection, has all packets before `first_missing`.
    #[inline]
    pub(crate) fn has_come(&mut self, flow: u32, first_missing: u32, now: Time) {
        let Some(connection) = flow.checked_sub(self.run.first) else { return };
        if first_missing >= self.awaited[connection as usize] {
            self.messages_came((flow, connection as usize), first_missing, now);
        }
    }

    /// Takes in all messages of a connection that end before `first_missing`.
    #[inline(never)]
    fn messages_came(&mut self, (flow, place): (u32, usize), first_missing: u32, now: Time) {
        while let Some(message) = self.run.connections.message(flow, self.came[place]) {
            self.awaited[place] = message.end;
            if message.end > first_missing {
                return;
            }
            if self.run.keeps_messages {
                self.outcome.came.insert((flow, self.came[place]), now);
            }
            self.came[place] += 1;
            self.awaited[place] = 0;
            let Lane { from, to, .. } = self.lane(flow);
            match message.content {
                Content::Tagged { tag, .. } => self.deliver(to, from, tag, now),
                Content::Step { call, tag, channel, slot } => {
                    self.step_came(to, (call, tag), (channel, slot), now);
                }
            }
            self.go_on(to, now);
        }
    }

    /// Whether anything waits for acknowledgements.
    #[inline]
    pub(crate) fn waits_for_acknowledgements(&self) -> bool {
        self.run.plan.waits_for_acknowledgements
    }

    /// The sender of `flow`, if it is a connection, knows that all packets before `next` have arrived.
    pub(crate) fn was_acknowledged(&mut self, flow: u32, next: u32, now: Time) {
        let Some(connection) = flow.checked_sub(self.run.first) else { return };
        let place = connection as usize;
        while let Some(message) = self.run.connections.message(flow, self.acknowledged[place])
            && message.end <= next
        {
            self.acknowledged[place] += 1;
            if let Content::Tagged { node, .. } = message.content {
                let from = self.lane(flow).from;
                self.finish(from, node, now);
                self.go_on(from, now);
            }
        }
    }

    /// Reads what other ranks have left for those of this side; appends it to the notes.
    pub(crate) fn read(&mut self) {
        self.run.board.take(self.side, &mut self.letters);
        for Letter { at, rank, news } in std::mem::take(&mut self.letters) {
            self.rank(rank).due.push(Reverse((at, Due::Hears(news))));
            self.notes.push(Note::Look { at, rank });
        }
    }

    /// The soonest time from `now` on at which anything takes effect that this side has left for any.
    pub(crate) fn soonest_from(&mut self, now: Time) -> Time {
        while self.left.peek().is_some_and(|&Reverse(at)| at < now) {
            self.left.pop();
        }
        self.left.peek().map_or(Time::NEVER, |&Reverse(at)| at)
    }

    /// What the ranks of this side did by the `horizon`.
    pub(crate) fn outcome(mut self, horizon: Time) -> RankOutcome {
        for at in self.outcome.ended.iter_mut().filter(|at| **at > horizon) {
            *at = Time::NEVER;
        }
        self.outcome
    }

    fn rank(&mut self, rank: u32) -> &mut Rank {
        self.states[rank as usize].as_deref_mut().expect("a rank of this side")
    }

    /// Leaves a letter.
    fn leave(&mut self, letters: &[Letter]) {
        self.left.extend(letters.iter().map(|letter| Reverse(letter.at)));
        let addressed = letters.iter().map(|&own| (self.sides[own.rank as usize], own));
        self.run.board.leave(addressed);
    }

    /// A message of `from` with a tag has come to `rank`.
    fn deliver(&mut self, rank: u32, from: u32, tag: u32, now: Time) {
        let program = self.run.plan.program();
        let away = program.away(from, rank);
        if let Some(receive) = self.rank(rank).walk.deliver(program.graph(rank), away, tag) {
            self.finish(rank, receive, now);
        }
    }

    /// `node` of `rank` is done.
    fn finish(&mut self, rank: u32, node: NodeId, now: Time) {
        self.outcome.nodes[rank as usize].ended(node, now);
        let graph = self.run.plan.program().graph(rank);
        let state = self.rank(rank);
        let before = state.ready.len();
        state.walk.happened(graph, node, Event::Finished, &mut state.ready);
        state.ready[before..].reverse();
        state.left -= 1;
        if state.left == 0 {
            self.outcome.ended[rank as usize] = now;
            self.done += 1;
        }
    }

    /// Has `rank` begin all nodes that are ready.
    fn go_on(&mut self, rank: u32, now: Time) {
        while let Some(node) = self.rank(rank).ready.pop() {
            self.begin(rank, node, now);
        }
    }

    fn begin(&mut self, rank: u32, node: NodeId, now: Time) {
        self.outcome.nodes[rank as usize].began(node, now);
        let run = self.run;
        let program = run.plan.program();
        let graph = program.graph(rank);
        let state = self.rank(rank);
        state.walk.happened(graph, node, Event::Started, &mut state.ready);
        match graph.op(node, rank) {
            Op::Join => self.finish(rank, node, now),
            Op::Compute { stream, span } => self.compute(rank, node, (stream, span), now),
            Op::Receive { .. } => {
                if state.walk.post(graph, node) {
                    self.finish(rank, node, now);
                }
            }
            Op::Send { to, tag, bytes } => {
                state.walk.happened(graph, node, Event::HandedOver, &mut state.ready);
                let is_local = run.plan.are_neighbours(rank, to);
                let content = Content::Tagged { node, tag };
                self.send(Lane { from: rank, to, channel: 0 }, bytes, content, now);
                if !is_local && !self.waits_for_acknowledgements() {
                    self.finish(rank, node, now);
                }
            }
            Op::Collective { call, tag } => {
                let groups = program.groups(call).expect("a call has groups");
                let (group, index) = groups.place(rank).expect("who calls is in a group");
                let this = &program.calls()[call as usize];
                let shape = Shape { ranks: groups.size(group), bytes: this.bytes };
                match this.execution {
                    Execution::ClosedForm(span) => {
                        self.join(rank, node, (call, tag, group), span, now);
                    }
                    Execution::Messages => {
                        let key = UnderWay { call, tag, node, group, shape, channels: Vec::new() };
                        self.take_part(rank, this, index, key, now);
                    }
                }
            }
        }
    }

    fn compute(&mut self, rank: u32, node: NodeId, (stream, span): (u8, Span), now: Time) {
        self.outcome.computed[rank as usize] += span;
        let state = self.rank(rank);
        let stream = usize::from(stream);
        if state.streams.len() <= stream {
            state.streams.resize(stream + 1, Time::ZERO);
        }
        let at = state.streams[stream].max(now) + span;
        state.streams[stream] = at;
        state.due.push(Reverse((at, Due::Ends(node))));
        self.notes.push(Note::Look { at, rank });
    }

    /// Sends a message over the network, or on the server.
    fn send(&mut self, lane: Lane, bytes: u64, content: Content, now: Time) {
        let run = self.run;
        if !run.plan.are_neighbours(lane.from, lane.to) {
            let flow = run.first + run.plan.lane(lane);
            let state = self.rank(lane.from);
            let order = state.handed_over;
            state.handed_over += 1;
            let place = run.connections.hand_over(flow, bytes.max(1), order, content);
            if run.keeps_messages {
                let ranks = (lane.from, lane.to);
                let sent =
                    MessageSent { at: now, ranks, bytes, of: self.owner(lane.from, content) };
                self.outcome.sent.insert((flow, place), sent);
            }
            self.notes.push(Note::Send { at: now, flow });
            return;
        }
        let at = heard(now, run.plan.on_server(bytes), self.window);
        let news = match content {
            Content::Tagged { node, tag } => {
                self.rank(lane.from).due.push(Reverse((at, Due::Ends(node))));
                self.notes.push(Note::Look { at, rank: lane.from });
                News::Came { from: lane.from, tag }
            }
            Content::Step { call, tag, channel, slot } => News::Step { call, tag, channel, slot },
        };
        self.leave(&[Letter { at, rank: lane.to, news }]);
    }

    /// What a message of `rank` belongs to: a call and its group, or a node.
    fn owner(&self, rank: u32, content: Content) -> MessageOf {
        match content {
            Content::Tagged { node, .. } => MessageOf::Node(node),
            Content::Step { call, .. } => {
                let groups = self.run.plan.program().groups(call).expect("a call has groups");
                let (group, _) = groups.place(rank).expect("who calls is in a group");
                MessageOf::Collective { call, group }
            }
        }
    }

    /// `rank` joins a collective that takes `span` from the moment on at which all have joined.
    fn join(&mut self, rank: u32, node: NodeId, key: (u32, u32, u32), span: Span, now: Time) {
        let (call, tag, group) = key;
        self.rank(rank).joined.push((call, tag, node));
        self.outcome.on_server[rank as usize] += span;
        let run = self.run;
        let groups = run.plan.program().groups(call).expect("a call has groups");
        let size = groups.size(group);
        if let Some(last) = run.board.join(key, size, now) {
            self.outcome.closed[call as usize] += 1;
            let at = heard(last, span, self.window);
            let members = (0..size).map(|index| groups.member(group, index));
            let letters: Vec<Letter> =
                members.map(|rank| Letter { at, rank, news: News::Over { call, tag } }).collect();
            self.leave(&letters);
        }
    }

    /// `rank`, the one with `index` in its group, takes part in a collective of messages.
    fn take_part(&mut self, rank: u32, call: &Call, index: u32, key: UnderWay, now: Time) {
        let UnderWay { shape, group, .. } = key;
        let cursor = |channel| Cursor::new(&call.collective, shape, index, channel);
        let channels = (0..call.collective.channels()).map(cursor).collect();
        let times = self.outcome.collectives.entry((key.call, key.tag, group));
        times.or_insert(CollectiveTimes::beginning(rank, now)).join(rank, now);
        let id = (key.call, key.tag);
        let state = self.rank(rank);
        let early = state.early.remove(&id).unwrap_or_default();
        state.under_way.push(UnderWay { channels, ..key });
        for (channel, slot) in early {
            let under_way = self.rank(rank).under_way.last_mut().expect("it has just begun");
            under_way.channels[usize::from(channel)].arrived(slot);
        }
        let place = self.rank(rank).under_way.len() - 1;
        self.send_steps(rank, place, now);
    }

    /// A message of a collective has come to `rank`.
    fn step_came(
        &mut self,
        rank: u32,
        (call, tag): (u32, u32),
        (channel, slot): (u8, u32),
        now: Time,
    ) {
        let state = self.rank(rank);
        let place = state.under_way.iter().position(|own| (own.call, own.tag) == (call, tag));
        match place {
            None => state.early.entry((call, tag)).or_default().push((channel, slot)),
            Some(place) => {
                state.under_way[place].channels[usize::from(channel)].arrived(slot);
                self.send_steps(rank, place, now);
            }
        }
    }

    /// Sends what may be sent now of a collective, each channel in turn, and ends it if that was all.
    fn send_steps(&mut self, rank: u32, place: usize, now: Time) {
        let program = self.run.plan.program();
        let UnderWay { call, tag, group, shape, node, .. } = self.rank(rank).under_way[place];
        let (this, groups) = (&program.calls()[call as usize], program.groups(call));
        let groups = groups.expect("a call has groups");
        loop {
            let mut any = false;
            for channel in 0..this.collective.channels() {
                let own = &mut self.rank(rank).under_way[place].channels[channel as usize];
                let Some(message) = own.send(&this.collective, shape) else { continue };
                any = true;
                let lane = Lane {
                    from: rank,
                    to: groups.member(group, message.to),
                    channel: channel as u8,
                };
                let slot = message.slot;
                let content = Content::Step { call, tag, channel: channel as u8, slot };
                self.send(lane, message.part.bytes, content, now);
            }
            if !any {
                break;
            }
        }
        let state = self.rank(rank);
        if state.under_way[place].channels.iter().all(Cursor::is_finished) {
            state.under_way.swap_remove(place);
            let times = self.outcome.collectives.get_mut(&(call, tag, group));
            let times = times.expect("it has begun");
            (times.ended, times.over) = (times.ended.max(now), times.over + 1);
            self.finish(rank, node, now);
        }
    }
}
