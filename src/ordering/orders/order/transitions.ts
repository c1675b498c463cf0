/** The states of an order (interface 10.7): one table of legal moves, and the order after a move. Pure. */
import type { Order, Status } from './order.ts';

export type Move = 'confirm' | 'close' | 'cancel' | 'time_out';
export type IllegalMove = 'CONFLICT' | 'TIMEOUT';

type Cell = { to: Status } | { refused: IllegalMove };

const to = (status: Status): Cell => ({ to: status });
const conflict: Cell = { refused: 'CONFLICT' };
const timeout: Cell = { refused: 'TIMEOUT' };

const table: Readonly<Record<Move, Readonly<Record<Status, Cell>>>> = {
  confirm: { new: to('confirmed'), confirmed: conflict, timed_out: timeout, closed: conflict, cancelled: conflict },
  close: { new: conflict, confirmed: to('closed'), timed_out: conflict, closed: conflict, cancelled: conflict },
  cancel: {
    new: to('cancelled'),
    confirmed: to('cancelled'),
    timed_out: conflict,
    closed: to('cancelled'),
    cancelled: conflict,
  },
  time_out: { new: to('timed_out'), confirmed: conflict, timed_out: conflict, closed: conflict, cancelled: conflict },
};

/** An order counts in the statistics from its creation until it times out or is cancelled. */
export const countedStatuses = ['new', 'confirmed', 'closed'] as const satisfies readonly Status[];

export type MoveDetails = {
  now: Date;
  /** As in `OrderMove.by`. */
  actor: string;
  text?: string | null;
  reason?: string | null;
  by?: 'api' | 'panel';
};

/** True from the exact end of the countdown on, even before the automatic step has run. */
const countdownIsOver = (order: Pick<Order, 'status' | 'countdownEnd'>, now: Date): boolean =>
  order.status === 'new' && order.countdownEnd !== null && order.countdownEnd.getTime() <= now.getTime();

/**
 * The order after the move, or the reason why the move is illegal; `refused` includes the order in its current state.
 */
export const moveOrder = (
  order: Order,
  move: Move,
  details: MoveDetails,
): { kind: 'moved'; order: Order } | { kind: 'refused'; code: IllegalMove; order: Order } => {
  const cell = table[move][order.status];
  if (move === 'time_out' || !countdownIsOver(order, details.now)) {
    if ('refused' in cell) return { kind: 'refused', code: cell.refused, order };
    return { kind: 'moved', order: apply(order, move, cell.to, details) };
  }
  // After the end of the countdown every move is decided as if the order had already timed out, so that a caller who
  // was answered TIMEOUT never sees the order confirmed later.
  const over = apply(order, 'time_out', 'timed_out', details);
  const refusal = table[move].timed_out;
  return { kind: 'refused', code: 'refused' in refusal ? refusal.refused : 'CONFLICT', order: over };
};

const apply = (order: Order, move: Move, status: Status, { now, actor, text, reason, by }: MoveDetails): Order => {
  // `settled` is the end of the countdown, even if the automatic step runs later. `updated` is the time of writing: an
  // earlier time would hide the change from callers that list orders updated since their last request.
  const at = move === 'time_out' && order.countdownEnd !== null ? order.countdownEnd : now;
  const moved: Order = {
    ...order,
    status,
    seq: order.seq + 1,
    updated: now,
    settled: order.settled ?? at,
    moves: [...(order.moves ?? []), { to: status, at: at.toISOString(), by: actor }],
  };
  switch (move) {
    case 'confirm':
      return { ...moved, confirmed: true, confirmationText: text ?? null };
    case 'close':
      return { ...moved, paid: order.paid || order.paymentMethod === 'cash' || order.paymentMethod === 'card' };
    case 'cancel':
      return { ...moved, cancelled: at, cancelReason: reason ?? null, cancelledBy: by ?? 'api' };
    case 'time_out':
      return moved;
  }
};
