/** A coupon (interface 10.3). Percentages, amounts and points are hundredths, days are `YYYY-MM-DD`. */

type CouponTerms = {
  discountPerc: number;
  /** Number of uses that are left. */
  quantity: number;
  orderMin: number;
  /** Inclusive, in the zone of the venue; null: no limit. */
  validFrom: string | null;
  validTo: string | null;
  /** 0 is Sunday; empty: every day. */
  validWeekdays: number[];
};

export type Coupon = CouponTerms & {
  code: string;
  /** Email of the only customer who may use it; null: every customer. */
  validEmail: string | null;
};

/** A coupon of the store, and whether the customer with the email in question may use it. */
export type FoundCoupon = Coupon & { isForEmail: boolean };

export type Generator = CouponTerms & {
  gencode: string;
  /** Days from its creation for which a coupon is valid; null: until `validTo`. */
  validDays: number | null;
  /** Price of a coupon in hundredths of a point. */
  points: number;
};
