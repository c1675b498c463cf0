/** The delivery zone of an address, with its fee (interface 11.1, "Address"). Pure. */
import type { DeliveryZone, Location } from '../../restaurants/restaurant.ts';
import type { OrderAddress } from '../order/order.ts';

export type ZoneVerdict =
  | { kind: 'served'; fee: number; orderMin: number; kms: number | null }
  | { kind: 'unknown' }
  | { kind: 'outside' };

type Point = { lat: number; lng: number };

const pointOf = (place: { lat: number | null; lng: number | null }): Point | undefined =>
  place.lat === null || place.lng === null ? undefined : { lat: place.lat, lng: place.lng };

/**
 * `unknown`: the address has neither street and city nor coordinates. Without zones a location delivers everywhere,
 * free.
 */
export const findZone = (location: Location, address: OrderAddress): ZoneVerdict => {
  const point = pointOf(address);
  if (point === undefined && (address.street === null || address.city === null)) return { kind: 'unknown' };
  const from = pointOf(location);
  const kms = point === undefined || from === undefined ? null : Math.round(distanceKms(from, point) * 100) / 100;
  if (location.zones.length === 0) return { kind: 'served', fee: 0, orderMin: 0, kms };
  const zone = location.zones.find((candidate) => reaches(candidate, from, point, address.zip));
  return zone === undefined ? { kind: 'outside' } : { kind: 'served', fee: zone.fee, orderMin: zone.orderMin, kms };
};

const reaches = (
  zone: DeliveryZone,
  from: Point | undefined,
  point: Point | undefined,
  zip: string | null,
): boolean => {
  const { radiusKms, polygon, zips } = zone;
  if (point !== undefined && from !== undefined && radiusKms !== undefined && distanceKms(from, point) <= radiusKms)
    return true;
  if (point !== undefined && polygon !== undefined && isInside(polygon, point)) return true;
  // Coordinates are more exact than a postal code, which is used only without them.
  return (
    zip !== null &&
    zips?.includes(zip) === true &&
    (point === undefined || (radiusKms === undefined && polygon === undefined))
  );
};

const earthRadiusKms = 6371;

/** Great-circle distance (haversine). */
const distanceKms = (left: Point, right: Point): number => {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const half = (degrees: number): number => Math.sin(radians(degrees) / 2) ** 2;
  const a =
    half(right.lat - left.lat) +
    Math.cos(radians(left.lat)) * Math.cos(radians(right.lat)) * half(right.lng - left.lng);
  return 2 * earthRadiusKms * Math.asin(Math.min(1, Math.sqrt(a)));
};

/** Even-odd rule. Corners are [lat, lng]. */
const isInside = (polygon: readonly (readonly [number, number])[], { lat, lng }: Point): boolean => {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [latI, lngI] = polygon[i] ?? [0, 0];
    const [latJ, lngJ] = polygon[j] ?? [0, 0];
    if (latI > lat !== latJ > lat && lng < ((lngJ - lngI) * (lat - latI)) / (latJ - latI) + lngI) inside = !inside;
  }
  return inside;
};
