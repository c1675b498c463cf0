/** What orders, ledger and customers of a restaurant should come to, in memory and as simple as can be. */

export type Command =
  | { type: 'order'; who: string; quantity: number }
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
  status: 'new' | 'confirmed' | 'closed' | 'cancelled';
  given: number;
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

  const order = (email: string, quantity: number): ModelOrder => {
    let customer = known(email);
    if (customer === undefined) {
      customer = { email, removed: false, totals: new Map(), balance: 0, entries: 0 };
      customers.push(customer);
    }
    const events = ['order.new', 'order.countdown_started'];
    const made: ModelOrder = { customer, total: price * quantity, status: 'new', given: 0, events };
    customer.totals.set(made, made.total);
    return made;
  };

  /** Undefined: done. */
  const move = (action: 'confirm' | 'close' | 'cancel', moved: ModelOrder): string | undefined => {
    const from = { confirm: ['new'], close: ['confirmed'], cancel: ['new', 'confirmed', 'closed'] }[action];
    if (!from.includes(moved.status)) return 'CONFLICT';
    const { customer } = moved;
    moved.status = ({ confirm: 'confirmed', close: 'closed', cancel: 'cancelled' } as const)[action];
    moved.events.push(`order.${moved.status}`);
    if (customer.removed) return undefined;
    if (action === 'close') {
      moved.given = moved.total;
      post(customer, moved.given);
    }
    if (action === 'cancel') {
      customer.totals.delete(moved);
      const back = Math.min(moved.given, customer.balance);
      if (back > 0) post(customer, -back);
    }
    return undefined;
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

  return { customers, known, order, move, points, remove };
};
