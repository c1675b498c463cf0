/** Settings of the ordering core. What a restaurant may choose stands with the restaurant (interface 14), not here. */
import { z } from 'zod';

export const orderingSettings = z.strictObject({});

export type OrderingSettings = z.infer<typeof orderingSettings>;
