/** Methods of an order (interface 10.6): takeaway, delivery, table and others. */
import type { z } from 'zod';
import { text } from '#src/platform/http/values.ts';

/** The description of each member that names a method. */
export const dmethodMeaning =
  'Delivery method: `0` pickup at the location, `1` home delivery, `0t` at the table, `20` at a pickup point, ' +
  '`0e-{id}` event, `dcf-{id}` custom method';

/** `0`, `1`, `0t`, `20`, `0e-{id}`, `dcf-{id}`. */
export const dmethod: z.ZodType<string> = text({
  max: 64,
  pattern: /^(0|1|0t|20|(0e|dcf)-[A-Za-z0-9._-]+)$/,
  format: 'a delivery method',
}).describe(dmethodMeaning);

/** Names of the standard methods; events and custom methods have names of their own. */
export const dmethodNames: Readonly<Record<string, string>> = {
  '0': 'Pickup',
  '1': 'Delivery',
  '0t': 'At the table',
  '20': 'Pickup point',
};
