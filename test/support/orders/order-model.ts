/** What orders, ledger and customers of a restaurant should come to, in memory and as simple as can be. */

export type Command =
  | { type: 'order'; who: string; quantity: number; redeem?: number }
  | { type: 'confirm' | 'close' | 'cancel'; which: number }
  | { type: 'points'; who: string; op: 'add' | 'subtract'; points: number }
  | { type: 'remove'; who: string };

export type ModelCustomer = {
  email: string;
  removed: boolean;
  /** Totals of the orders that count, in cents. */
  totals: Map<ModelOrder, number>;
  /** Hundredths of a point. */
  balance: number;
  entries: number;
};

export type ModelOrder = {
  customer: ModelCustomer;
  total: number;
  status: 'new' | 'confirmed' | 'timed_out' | 'closed' | 'cancelled';
  given: number;
  /** Hundredths of a point that were paid with. */
  redeemed: number;
  events: string[];
};

/** Price of a piece in cents; a closed order gives a point per currency unit. */
export const createOrderModel = (price: number) => {
  const customers: ModelCustomer[] = [];
  const known = (email: string): ModelCustomer | undefined =>
    customers.find((customer) => customer.email === email && !customer.removed);

  const post = (customer: ModelCustomer, cents: number): void => {
    customer.balance += cents;
    customer.entries += 1;
  };

  /** `redeem`: points of a tenth of a currency unit. Undefined: the balance is too small, nothing was done. */
  const order = (email: string, quantity: number, redeem: number): ModelOrder | undefined => {
    if (redeem * 100 > (known(email)?.balance ?? 0)) return undefined;
    let customer = known(email);
    if (customer === undefined) {
      customer = { email, removed: false, totals: new Map(), balance: 0, entries: 0 };
      customers.push(customer);
    }
    const events = ['order.new', 'order.countdown_started'];
    const total = price * quantity - redeem * 10;
    const made: ModelOrder = { customer, total, status: 'new', given: 0, redeemed: redeem * 100, events };
    if (made.redeemed > 0) post(customer, -made.redeemed);
    customer.totals.set(made, made.total);
    return made;
  };

  const reverse = (moved: ModelOrder): void => {
    const { customer } = moved;
    if (customer.removed) return;
    customer.totals.delete(moved);
    const back = Math.min(moved.given, customer.balance);
    if (back > 0) post(customer, -back);
    if (moved.redeemed > 0) post(customer, moved.redeemed);
  };

  /** Undefined: done. */
  const move = (action: 'confirm' | 'close' | 'cancel', moved: ModelOrder): string | undefined => {
    const from = { confirm: ['new'], close: ['confirmed'], cancel: ['new', 'confirmed', 'closed'] }[action];
    if (!from.includes(moved.status)) return 'CONFLICT';
    const { customer } = moved;
    moved.status = ({ confirm: 'confirmed', close: 'closed', cancel: 'cancelled' } as const)[action];
    moved.events.push(`order.${moved.status}`);
    if (action === 'close' && !customer.removed) {
      moved.given = moved.total;
      post(customer, moved.given);
    }
    if (action === 'cancel') reverse(moved);
    return undefined;
  };

  /** What the automatic step does at the end of the countdown; false: the order is not new any more. */
  const timeOut = (moved: ModelOrder): boolean => {
    if (moved.status !== 'new') return false;
    moved.status = 'timed_out';
    moved.events.push('order.timeout');
    reverse(moved);
    return true;
  };

  const points = (email: string, op: 'add' | 'subtract', amount: number): string | undefined => {
    const customer = known(email);
    if (customer === undefined) return 'CUSTOMER_NOT_FOUND';
    if (op === 'subtract' && amount * 100 > customer.balance) return 'INSUFFICIENT_POINTS';
    post(customer, (op === 'add' ? amount : -amount) * 100);
    return undefined;
  };

  const remove = (email: string): string | undefined => {
    const customer = known(email);
    if (customer === undefined) return 'CUSTOMER_NOT_FOUND';
    customer.removed = true;
    return undefined;
  };

  return { customers, known, order, move, timeOut, points, remove };
};
