/** The members of the file of routes that bound how often routes are called (interface 20). */
import { z } from 'zod';
import type { Method } from './route-path.ts';

const units = z.int().min(1).max(1_000_000_000);

const perMinute = units.optional();
const burst = units.optional();

/** Spread into the schema of a route. */
export const limitMembers = {
  limits: z
    .strictObject({
      cost: z
        .int()
        .min(1)
        .max(1_000_000)
        .optional()
        .meta({ description: 'Units of one request, instead of those of its `class`' }),
      perMinute: perMinute.meta({ description: 'Units that one caller may use on this route in 60 s' }),
      burst: burst.meta({ description: 'Units that one caller may use on this route in 1 s' }),
    })
    .optional()
    .meta({
      description: 'Cost of a request, and limits of each caller on this route beside its limits for all routes',
    }),
  tenant: z
    .string()
    .regex(
      /^(?:\{[a-z][a-zA-Z0-9_]{0,63}\}|\?[A-Za-z0-9._~-]{1,64})$/,
      'a parameter of the path such as {shop}, or of the query such as ?shop',
    )
    .optional()
    .meta({
      description:
        'Where a request names its tenant, for `tenantLimits`: `{shop}` for a parameter of the path, `?shop` for one of the query. It is not needed for callers with exactly one tenant',
    }),
};

export const tenantLimits = z
  .strictObject({
    perMinute: perMinute.meta({ description: 'Units in 60 s' }),
    burst: burst.meta({ description: 'Units in 1 s' }),
  })
  .optional()
  .meta({ description: 'Units that all callers together may use for one tenant, on all routes' });

type RouteLimits = z.infer<typeof limitMembers.limits>;
export type TenantLimits = NonNullable<z.infer<typeof tenantLimits>>;

export type RouteClass = 'R' | 'W' | 'H';

const readMethods: ReadonlySet<Method> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `given`: that of the file, for every method of the route. */
export const classFor = (given: RouteClass | undefined, method: Method): RouteClass =>
  given ?? (readMethods.has(method) ? 'R' : 'W');

const unitsByClass: Readonly<Record<RouteClass, number>> = { R: 1, W: 2, H: 20 };

/** Units of one request. */
export const unitsOfRoute = (route: { class: RouteClass; limits?: RouteLimits }): number =>
  route.limits?.cost ?? unitsByClass[route.class];
