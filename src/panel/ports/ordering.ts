/** The port of the pages about orders; `src/app/panel/ordering-ports.ts` implements it with the feature `ordering`. */
import type { Listed } from './restaurant.ts';

export type OrderStatus = 'new' | 'confirmed' | 'timed_out' | 'closed' | 'cancelled';

type OrderedValue = { name: string; quantity: number };

type OrderedLine = {
  product: { name: string; ext_id: string | null };
  options: readonly { name: string; values: readonly OrderedValue[] }[];
  /** Hundredths, with its options. */
  price: number;
  quantity: number;
  free_quantity: number;
  total: number;
  notes: string | null;
};

type OrderAddress = {
  street: string | null;
  number: string | null;
  zip: string | null;
  city: string | null;
  doorbell: string | null;
  floor: string | null;
};

/** Amounts and points are hundredths. */
export type PanelOrder = {
  uid: string;
  status: OrderStatus;
  number: number;
  locationCode: string | null;
  date: Date;
  customerUid: string | null;
  /** Null once the customer was removed. */
  client: { first_name: string | null; last_name: string | null; phone: string | null; email: string | null } | null;
  details: readonly OrderedLine[];
  dmethod: string;
  fee: number;
  paymentMethod: 'cash' | 'card' | 'online' | 'invoice' | 'external';
  paid: boolean;
  linesTotal: number;
  coupon: { code: string; discount: number } | null;
  redeemedPoints: number | null;
  loyaltyDiscount: number | null;
  total: number;
  currency: string;
  notes: string | null;
  creator: 'customer' | 'restaurant';
  table: string | null;
  pickupDate: Date | null;
  deliveryDate: Date | null;
  address: OrderAddress | null;
  deliverypoint: { name: string; full_address: string } | null;
  externalId: string | null;
  /** Also after it was closed or cancelled. */
  confirmed: boolean;
  countdownEnd: Date | null;
  /** When the order was confirmed, or left the state `new` otherwise. */
  settled: Date | null;
  confirmationText: string | null;
  cancelled: Date | null;
  cancelReason: string | null;
  /** The states that the order entered, the oldest first; null or incomplete after a release that did not record them. `at`: ISO 8601. */
  moves: readonly { to: OrderStatus; at: string; by: string }[] | null;
};

type OrderSearch = {
  statuses: readonly OrderStatus[] | undefined;
  /** Days `YYYY-MM-DD` in the restaurant's time zone, both inclusive. */
  from: string | undefined;
  to: string | undefined;
  customerUid: string | undefined;
  externalId: string | undefined;
  after: string | undefined;
  limit: number;
};

export type OrderEvent = { id: string; event: string; recorded: Date };

export type OrderMoveByStaff = 'confirm' | 'close' | 'cancel';

/** Amounts and points are hundredths. */
export type PanelCustomer = {
  uid: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  phone: string | null;
  /** In one line. */
  address: string | null;
  code: string | null;
  added: Date;
  ordersCount: number;
  ordersTotal: number;
  firstOrder: Date | null;
  lastOrder: Date | null;
  points: number;
};

/** `currency`: of the restaurant, in which `ordersTotal` is. */
export type CustomerWithCurrency = PanelCustomer & { currency: string };

/** An entry of the ledger of points. Points are hundredths. */
export type LedgerEntry = {
  created: Date;
  type: 'order' | 'order_cancelled' | 'redemption' | 'signup' | 'coupon' | 'manual';
  orderUid: string | null;
  notes: string | null;
  diffOp: 'add' | 'subtract';
  diffPoints: number;
  balance: number;
};

export type OrderingPorts = {
  /** Newest first. `start`: of a name, an email or a phone. */
  customers(
    restuid: string,
    search: { start: string | undefined; after: string | undefined; limit: number },
  ): Promise<Listed<PanelCustomer>>;
  customer(restuid: string, uid: string): Promise<CustomerWithCurrency | undefined>;
  /** Newest first. */
  entriesOf(
    restuid: string,
    uid: string,
    page: { after: string | undefined; limit: number },
  ): Promise<Listed<LedgerEntry>>;
  /**
   * `formId`: of the form that was sent. `repeated`: it has moved these points already. Throws NOT_FOUND, INSUFFICIENT_POINTS,
   * VALIDATION_ERROR above the largest balance, and CONFLICT when the form has moved others.
   */
  movePoints(
    actor: string,
    restuid: string,
    uid: string,
    change: { diffOp: 'add' | 'subtract'; points: number; reason: string; formId: string | undefined },
  ): Promise<'moved' | 'repeated'>;

  /** Newest first. */
  orders(restuid: string, search: OrderSearch): Promise<Listed<PanelOrder>>;
  order(restuid: string, uid: string): Promise<PanelOrder | undefined>;
  /** The events of an order that are still stored, the oldest first. */
  eventsOf(restuid: string, uid: string): Promise<readonly OrderEvent[]>;
  /** The name of an actor in `moves`: the email of a user, or the name of a key or client; undefined when there is none. */
  nameOf(restuid: string, actor: string): Promise<string | undefined>;
  /** Throws NOT_FOUND, CONFLICT, and TIMEOUT for a confirmation after the end of the countdown. `reason`: at most 500 characters. */
  move(actor: string, restuid: string, uid: string, move: OrderMoveByStaff, reason: string | null): Promise<void>;
  /** A text that differs after a change of an order. */
  mark(restuid: string): Promise<string>;
};
