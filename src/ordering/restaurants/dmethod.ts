/** Methods of an order (interface 10.6): takeaway, delivery, table and others. */
import type { z } from 'zod';
import { text } from '#src/platform/http/values.ts';

/** `0`, `1`, `0t`, `20`, `0e-{id}`, `dcf-{id}`. */
export const dmethod: z.ZodType<string> = text({
  max: 64,
  pattern: /^(0|1|0t|20|(0e|dcf)-[A-Za-z0-9._-]+)$/,
  format: 'a delivery method',
});

/** Names of the standard methods; events and custom methods have names of their own. */
export const dmethodNames: Readonly<Record<string, string>> = {
  '0': 'Pickup',
  '1': 'Delivery',
  '0t': 'At the table',
  '20': 'Pickup point',
};
