/** A restaurant and its locations. Amounts and points are hundredths (../values/money.ts). */

export type Restaurant = {
  uid: string;
  name: string;
  timeZone: string;
  apiTimeZone: string;
  currency: string;
  language: string;
  confirmationRequired: boolean;
  /** 0: a new order has no countdown. */
  countdownMinutes: number;
  /** Points per currency unit; 0: orders earn no points. */
  pointsPerUnit: number;
  /** Money that one point is worth, in currency units (at most 4 decimals); null: points have no value. */
  pointValue: number | null;
  /** Hundredths of a point. */
  signupPoints: number;
};

type DeliveryPoint = { uid: string; name: string; full_address: string; fee: number };

/**
 * A delivery zone: a circle (radius in km around `lat`, `lng` of the location), a polygon of [lat, lng] corners, or
 * postal codes. `fee` and `orderMin` in hundredths. The first zone that contains the address counts.
 */
export type DeliveryZone = {
  name: string;
  fee: number;
  orderMin: number;
  radiusKms?: number;
  polygon?: readonly (readonly [number, number])[];
  zips?: readonly string[];
};

export type Location = {
  uid: string;
  restuid: string;
  name: string;
  at: string | null;
  code: string | null;
  address: string | null;
  city: string | null;
  province: string | null;
  zip: string | null;
  country: string | null;
  phone: string | null;
  email: string | null;
  lat: number | null;
  lng: number | null;
  timeZone: string;
  hidden: boolean;
  position: number;
  dmethods: readonly { code: string; name: string }[];
  deliverypoints: readonly DeliveryPoint[];
  zones: readonly DeliveryZone[];
  /** Opening hours by weekday 0 (Sunday) to 6 as ["11:30","15:00"] pairs in the location's zone; null: always open. */
  hours: Readonly<Record<string, readonly (readonly [string, string])[]>> | null;
};
