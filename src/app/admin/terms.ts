/**
 * What the command line offers as choices and writes as text. It loads none of the program behind it, so that help and the
 * commands for a server elsewhere do not wait for that.
 */
export {
  exportFormats,
  type FoundEvent,
  limitNames,
  type OwnLimits,
  searchLimitMax,
  statusClasses as requestStatuses,
  toEcs,
} from '#src/gateway/whoami/terms.ts';
export { roles as roleNames } from '#src/staff/accounts/terms.ts';
export { certificateEnds, type SignatureScheme, signatureSchemes } from '#src/webhooks/endpoints/terms.ts';
export { eventKinds } from '../webhooks/event-kinds.ts';
