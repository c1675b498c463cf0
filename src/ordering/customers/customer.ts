/** A customer record (interface 10.2). Names are those of the wire and of the columns; amounts and points are hundredths. */

/** What create and update may set, in the order of the interface. */
export const writableMembers = [
  'email',
  'first_name',
  'last_name',
  'phone',
  'address',
  'number',
  'city',
  'province',
  'zip',
  'country',
  'code',
  'subrestaurant_uid',
  'signup_uid',
] as const;

export type WritableMember = (typeof writableMembers)[number];

export type WritableMembers = Record<WritableMember, string | null>;

/** What a request says of them: undefined is "not named", null is "empty". */
export type NamedMembers = { [Name in WritableMember]?: string | null | undefined };

/** Follows the orders that count: created, and neither timed out nor cancelled. Never part of a change of the record. */
export type Statistics = {
  orders_count: number;
  pickup_orders_count: number;
  delivery_orders_count: number;
  offline_orders_count: number;
  first_order: Date | null;
  last_order: Date | null;
  last_offline_order: Date | null;
  orders_total: number;
};

export type Customer = WritableMembers &
  Statistics & {
    uid: string;
    /** Of the record: rises with every change that can have an event. */
    seq: number;
    added: Date;
    /** Of the location that subrestaurant_uid names. */
    subrestaurant_code: string | null;
    signup_deleted: Date | null;
    devices_unregistered: Date | null;
    loyalty_points: number;
    loyalty_seq: number;
  };

/** How a caller names one customer; both: they must be the same. */
export type CustomerAddress = { uid?: string | undefined; email?: string | undefined };
