/** A coupon as data (interface 10.3). Percentages, amounts and points are hundredths, days are `YYYY-MM-DD`. */

export type CouponTerms = {
  discountPerc: number;
  /** Uses left. */
  quantity: number;
  orderMin: number;
  /** Inclusive, in the zone of the venue; null: no bound. */
  validFrom: string | null;
  validTo: string | null;
  /** 0 is Sunday; empty: every day. */
  validWeekdays: number[];
};

export type Coupon = CouponTerms & {
  code: string;
  /** The only one who may use it. */
  validEmail: string | null;
};

export type Generator = CouponTerms & {
  gencode: string;
  /** Days that a coupon is valid from its making; null: as long as `validTo` says. */
  validDays: number | null;
  /** Price of a coupon in hundredths of a point. */
  points: number;
};
