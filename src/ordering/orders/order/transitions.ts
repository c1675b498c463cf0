/** The life of an order (interface 10.7): one table, and what a legal move makes of an order. Pure. */
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

/** An order counts in the statistics from creation until it times out or is cancelled. */
export const countedStatuses = ['new', 'confirmed', 'closed'] as const satisfies readonly Status[];

export type MoveDetails = { now: Date; text?: string | null; reason?: string | null; by?: 'api' | 'panel' };

/** True from the very end of the countdown on, whether the automatic step has run or not. */
export const countdownIsOver = (order: Pick<Order, 'status' | 'countdownEnd'>, now: Date): boolean =>
  order.status === 'new' && order.countdownEnd !== null && order.countdownEnd.getTime() <= now.getTime();

/** The order after the move, or why it cannot be made; `refused` carries the order as it then is. */
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
  // Who was told that the order timed out must not find it alive afterwards, so every move sees it as it will be.
  const over = apply(order, 'time_out', 'timed_out', details);
  const refusal = table[move].timed_out;
  return { kind: 'refused', code: 'refused' in refusal ? refusal.refused : 'CONFLICT', order: over };
};

const apply = (order: Order, move: Move, status: Status, { now, text, reason, by }: MoveDetails): Order => {
  // A countdown ends when it ends, not when somebody notices; but `updated` is when it was written, or a reader who asks
  // for what was updated since the last time would never see it.
  const at = move === 'time_out' && order.countdownEnd !== null ? order.countdownEnd : now;
  const moved: Order = { ...order, status, seq: order.seq + 1, updated: now, settled: order.settled ?? at };
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
