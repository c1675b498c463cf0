/** Settings of the ordering core. Settings of a restaurant are stored with the restaurant (interface 14). */
import { z } from 'zod';
import { hasLogin } from '#src/platform/settings.ts';
import { placeIdMark } from './orders/address/address-resolver.ts';

/** The place id may appear in the path or the query, never in the host. */
const isResolver = (value: string): boolean => {
  const [first, second] = ['a', 'b'].map((id) => URL.parse(value.replaceAll(placeIdMark, id)));
  return (
    first != null &&
    second != null &&
    !hasLogin(value) &&
    /^https?:$/.test(first.protocol) &&
    first.origin === second.origin &&
    `${first.pathname}${first.search}` !== `${second.pathname}${second.search}`
  );
};

export const orderingSettings = z.strictObject({
  address_resolver_url: z
    .string()
    .refine(
      isResolver,
      `must be an http(s) address with ${placeIdMark} in its path or query, without user and password`,
    )
    .optional()
    .meta({
      description:
        'Geocoder that is asked for the `place_id` of a delivery address, with `{place_id}` where it belongs; without it only what the order itself says counts',
      env: 'ORDERPASS_ADDRESS_RESOLVER_URL',
      // The key of a geocoder is usually part of its address.
      secret: true,
    }),
});

export type OrderingSettings = z.infer<typeof orderingSettings>;
