/** A stored order. Amounts and points are hundredths; lines are copies of the menu at the moment of ordering. */

export const statuses = ['new', 'confirmed', 'timed_out', 'closed', 'cancelled'] as const;
export type Status = (typeof statuses)[number];

type OrderedValue = {
  uid: string;
  name: string;
  price_operator: '+' | '-' | '=';
  price_operand: number;
  quantity: number;
  offline_uid: string | null;
  ext_id: string | null;
};

type OrderedOption = {
  uid: string;
  name: string;
  type: 'single' | 'multiple';
  ext_id: string | null;
  values: OrderedValue[];
};

export type OrderLine = {
  product: {
    uid: string;
    name: string;
    price: number;
    category: string;
    category_uid: string;
    offline_uid: string | null;
    ext_id: string | null;
  };
  options: OrderedOption[];
  price: number;
  price_options: number;
  quantity: number;
  free_quantity: number;
  total: number;
  notes: string | null;
};

export type OrderClient = {
  first_name: string | null;
  last_name: string | null;
  phone: string | null;
  email: string | null;
};

export type OrderAddress = {
  street: string | null;
  number: string | null;
  city: string | null;
  province: string | null;
  zip: string | null;
  country: string | null;
  place_id: string | null;
  lat: number | null;
  lng: number | null;
  kms: number | null;
  doorbell: string | null;
  floor: string | null;
  quarter: string | null;
};

export type PaymentMethod = 'cash' | 'card' | 'online' | 'invoice' | 'external';

/**
 * A state that the order entered. `at`: ISO 8601. `by`: `api_key:…`, `api_client:…` (also for a token of the client), `panel:` and
 * the id of a user, or `system` for the end of a countdown.
 */
type OrderMove = { to: Status; at: string; by: string };

export type Order = {
  restuid: string;
  uid: string;
  token: string;
  seq: number;
  status: Status;
  number: number;
  date: Date;
  updated: Date;
  customerUid: string | null;
  client: OrderClient | null;
  details: OrderLine[];
  dmethod: string;
  fee: number;
  paymentMethod: PaymentMethod;
  paymentMethodSub: string | null;
  paid: boolean;
  linesTotal: number;
  coupon: { code: string; discount: number } | null;
  redeemedPoints: number | null;
  loyaltyDiscount: number | null;
  total: number;
  currency: string;
  locationUid: string;
  locationCode: string | null;
  /** Zone of the venue. */
  timeZone: string;
  notes: string | null;
  language: string | null;
  creator: 'customer' | 'restaurant';
  table: string | null;
  pickupDate: Date | null;
  deliveryDate: Date | null;
  address: OrderAddress | null;
  deliverypoint: { name: string; full_address: string; fee: number } | null;
  externalId: string | null;
  /** Client that sent the external id. */
  externalOwner: string | null;
  confirmed: boolean;
  countdownMinutes: number | null;
  countdownStarted: Date | null;
  countdownEnd: Date | null;
  settled: Date | null;
  confirmationText: string | null;
  cancelled: Date | null;
  cancelReason: string | null;
  cancelledBy: string | null;
  /** The oldest first. Null where a release that did not record them inserted the order. */
  moves: readonly OrderMove[] | null;
};
