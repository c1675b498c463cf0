/** The OpenAPI document with real ids in its requests. Answers keep those of the recorded run, which are shorter. */
import { type Samples, withSamples } from './examples/sample-ids.ts';
import type { Json } from './json-schema.ts';
import { mapOf } from './name-schemas.ts';

/** `samples`: undefined where there is no demo restaurant; the document stays as it is. */
export const withSampleRequests = (document: Json, samples: Samples | undefined): Json => {
  const { paths, components, ...others } = document as { paths: Json; components: Json };
  const requests = mapOf(paths, (item) => mapOf(item, requestOf));
  const real = withSamples({ requests, parameters: components.parameters }, samples);
  return {
    ...others,
    paths: mapOf(paths, (item, path) =>
      mapOf(item, (operation, method) => ({ ...operation, ...(real.requests[path] as Record<string, Json>)[method] })),
    ),
    components: { ...components, parameters: real.parameters },
  };
};

const requestOf = ({ parameters, requestBody }: Json): Json => ({
  ...(parameters !== undefined && { parameters }),
  ...(requestBody !== undefined && { requestBody }),
});
