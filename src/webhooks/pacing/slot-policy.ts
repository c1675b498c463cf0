/** Which slot an attempt may have: pure functions over what the slots of a worker hold now (`slots.ts` keeps that state). */
import { slotting } from './bounds.ts';
import { type EndpointClass, quick, slow, unknown } from './concurrency-limit.ts';

export type SlotCaps = {
  /** Usual slots, for endpoints that are quick or unknown. */
  slotsMax: number;
  /** Of the usual slots, those that unknown endpoints may have. */
  unknownMax: number;
  /** Of the usual slots, those kept for endpoints that became due last during a flood. */
  reserveMax: number;
  /** Slots that are kept for the next claim at most, while due deliveries are left for want of slots. */
  keptMax: number;
  /** Slots for attempts to slow receivers. */
  slowSlotsMax: number;
  /** Of them, those that attempts may move to. */
  movedMax: number;
  /** Deliveries that are held ahead, without a slot. */
  aheadMax: number;
};

export type SlotCounts = {
  /** Slots in use by the class of their endpoint. */
  held: Record<EndpointClass, number>;
  /** Slow slots in use by attempts that moved to them. */
  moved: number;
  /** Deliveries held ahead, without a slot. */
  ahead: number;
  /** Slots of the reserve in use; `held` counts them as well. */
  reserve: number;
  /** Free slots that are kept for the next claim. */
  kept: number;
};

export type Room = {
  /** Free slots for endpoints that are quick or unknown. */
  free: number;
  /** Of them, those that unknown endpoints may have. */
  freeForUnknown: number;
  /** Of either, the reserve for endpoints that became due last during a flood. */
  reserve: number;
  /** Free slots for slow receivers. */
  freeForSlow: number;
  /** Endpoints that hold as many deliveries as they may. */
  full: string[];
};

export const capsOf = ({ slotsMax, slowSlotsMax }: { slotsMax: number; slowSlotsMax: number }): SlotCaps => ({
  slotsMax,
  slowSlotsMax,
  unknownMax: Math.ceil(slotsMax * slotting.unknownShare),
  reserveMax: Math.floor(slotsMax / slotting.reserveShare),
  keptMax: Math.ceil(slotsMax / slotting.reserveShare),
  movedMax: slowSlotsMax - Math.ceil(slowSlotsMax / slotting.keptSlowShare),
  aheadMax: slotsMax * slotting.aheadPerSlot,
});

const usualHeld = ({ held }: SlotCounts): number => held[quick] + held[unknown];

/** True when all slots for this class are in use, the reserve included. */
export const isShortOf = (caps: SlotCaps, counts: SlotCounts, endpointClass: EndpointClass | undefined): boolean =>
  usualHeld(counts) >= caps.slotsMax || (endpointClass === unknown && counts.held[unknown] >= caps.unknownMax);

/** True when a slot for this class is free beyond the reserve and beyond those that are kept for a claim. */
export const isFree = (caps: SlotCaps, counts: SlotCounts, endpointClass: EndpointClass): boolean => {
  const reserve = Math.max(0, caps.reserveMax - counts.reserve);
  return (
    usualHeld(counts) + counts.kept + reserve < caps.slotsMax &&
    (endpointClass !== unknown || counts.held[unknown] + reserve < caps.unknownMax)
  );
};

export const isReserveFree = (caps: SlotCaps, counts: SlotCounts): boolean =>
  counts.reserve < caps.reserveMax && usualHeld(counts) + counts.kept < caps.slotsMax;

/** True when an attempt may move to a slow slot. */
export const isMoveFree = (caps: SlotCaps, { held, moved }: SlotCounts): boolean =>
  held[slow] < caps.slowSlotsMax && moved < caps.movedMax;

export const isRoomAhead = (caps: SlotCaps, counts: SlotCounts): boolean => counts.ahead < caps.aheadMax;

export const roomOf = (caps: SlotCaps, counts: SlotCounts, full: Iterable<string>): Room => {
  const free = Math.max(0, caps.slotsMax - usualHeld(counts));
  return {
    free,
    freeForUnknown: Math.min(free, Math.max(0, caps.unknownMax - counts.held[unknown])),
    reserve: Math.max(0, caps.reserveMax - counts.reserve),
    freeForSlow: Math.max(0, caps.slowSlotsMax - counts.held[slow]),
    full: [...full],
  };
};
