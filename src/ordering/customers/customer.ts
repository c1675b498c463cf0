/**
 * A customer record (interface 10.2). Members are named as on the wire and in the table; amounts and points are
 * hundredths.
 */

/** Members that create and update may set, in the order of the interface. */
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

/** The members in a request: undefined means "not named", null means "empty". */
export type NamedMembers = { [Name in WritableMember]?: string | null | undefined };

/**
 * Statistics over the counted orders: created, and neither timed out nor cancelled. A change of them is no change of
 * the record.
 */
type Statistics = {
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
    /** Version of the record: rises with every change that can have an event. */
    seq: number;
    added: Date;
    /** Code of the location in subrestaurant_uid. */
    subrestaurant_code: string | null;
    signup_deleted: Date | null;
    devices_unregistered: Date | null;
    loyalty_points: number;
    loyalty_seq: number;
  };

/** As it is read with its lock, without what belongs to another record. */
export type LockedCustomer = Omit<Customer, 'subrestaurant_code'>;

/** A caller names a customer by uid, by email or by both; both must then name the same customer. */
export type CustomerAddress = { uid?: string | undefined; email?: string | undefined };
