/** Paths of the transmitter, and its metadata (SSF 1.0 section 7.1). */
import { pollMethod, pushMethod } from '../stream/stream-config.ts';

export const paths = {
  metadata: '/.well-known/ssf-configuration',
  jwks: '/api/oauth/signals/jwks',
  streams: '/api/oauth/signals/streams',
  status: '/api/oauth/signals/status',
  addSubject: '/api/oauth/signals/subjects/add',
  removeSubject: '/api/oauth/signals/subjects/remove',
  verify: '/api/oauth/signals/verify',
  poll: '/api/oauth/signals/poll',
} as const;

/** The stream stands in the query, so that the paths that figures and logs name are a bounded set. */
export const pollUrlOf = (origin: string, streamId: string): string => `${origin}${paths.poll}?stream_id=${streamId}`;

export const metadataOf = (origin: string): object => ({
  spec_version: '1_0',
  issuer: origin,
  jwks_uri: origin + paths.jwks,
  delivery_methods_supported: [pushMethod, pollMethod],
  configuration_endpoint: origin + paths.streams,
  status_endpoint: origin + paths.status,
  add_subject_endpoint: origin + paths.addSubject,
  remove_subject_endpoint: origin + paths.removeSubject,
  verification_endpoint: origin + paths.verify,
  // A receiver that does not understand whose token ended must not take an event for one about the client as a whole.
  critical_subject_members: ['session'],
  authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
  default_subjects: 'ALL',
});
