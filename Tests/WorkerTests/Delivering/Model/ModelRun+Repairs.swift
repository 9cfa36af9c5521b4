import Base
import Database
import Postgres
import TestSupport

/// What operators have done with deliveries.
extension ModelRun {
    func resend(_ chance: inout ModelChance) throws {
        // Half of the time one that may be in flight.
        let onlyOpen = chance.pick(2) == 0
        let all = model.order.filter { !onlyOpen || model.deliveries[$0]?.isOpen == true }
        guard !all.isEmpty else { return }
        let id = all[chance.pick(all.count)]
        _ = try DeliveryRepair.resend(id, now: clock.now(), on: operating)
        model.resend(id)
    }

    /// What a job does in one step, about all events or about some; the lists are read before anything is locked.
    func replay(_ id: String, _ chance: inout ModelChance) throws {
        let (isAll, isWhole) = (chance.pick(2) == 0, chance.pick(2) == 0)
        let events = model.events.filter { _ in isWhole || chance.pick(2) == 0 }
        guard let endpoint = try EndpointTable.list(id: id, on: operating).first else { return }
        func key(_ event: ReferenceModel.Published) -> DeliveryReplay.EventKey {
            DeliveryReplay.EventKey(lane: event.lane, id: event.id)
        }
        let states = try DeliveryReplay.states(of: events.map(key), to: id, on: operating)
        let over = isAll ? [DeliveryState.dead, .delivered] : [.dead]
        let known = events.filter { event in states[event.id].map(over.contains) ?? false }.map { event in
            DeliveryReplay.Ended(
                id: DeliveryID(lane: event.lane, event: event.id, endpoint: id), event: key(event))
        }
        let new = isAll ? events.filter { !$0.isCopy && states[$0.id] == nil }.map(key) : []
        try operating.transaction {
            let lanes = Set(known.map(\.id.lane) + new.map(\.lane))
            guard let locked = try DeliveryReplay.lock(endpoint, lanes: lanes, on: operating), locked.isEnabled
            else { return }
            _ = try DeliveryReplay.queue(
                known: known, in: over, new: new, to: locked, now: clock.now(), on: operating)
        }
        model.replay(events, to: id, isAll: isAll, at: clock.now())
    }

    func copy(_ chance: inout ModelChance) throws {
        guard !model.order.isEmpty else { return }
        let id = model.order[chance.pick(model.order.count)]
        let event = (0..<16).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        _ = try EventCopy.send(id, as: event, now: clock.now(), on: operating)
        model.copy(id, as: event, at: clock.now())
    }

    /// Up to the present, or to when one of those that are there was made.
    func drop(_ chance: inout ModelChance) throws {
        let disabled = model.endpoints.filter { $0.isDisabled && !$0.isRemoved }.map(\.id)
        guard !disabled.isEmpty else { return }
        let endpoint = disabled[chance.pick(disabled.count)]
        let times = model.order.compactMap { model.deliveries[$0]?.created } + [clock.now()]
        let last = chance.pick(2) == 0 ? clock.now() : times[chance.pick(times.count)]
        while try DeliveryTable.followEndpoints(in: Lane.all, now: clock.now(), on: operating) > 0 {}
        model.follow()
        while try HeldDeliveries.drop(of: endpoint, madeUntil: last, now: clock.now(), on: operating) > 0 {}
        model.drop(endpoint, madeUntil: last)
    }
}
