/** What each error code means and what a caller can do about it: texts of /docs/errors, of the reference and of the interface. */
import type { FaultCode } from '#src/contract/fault.ts';

export const faultTexts: Readonly<Record<FaultCode, string>> = {
  INVALID_AUTH: 'There is no credential, the client headers are incomplete or refused, or the token is refused.',
  INVALID_KEY: 'The API key is unknown, revoked or expired, or it was used for another restaurant.',
  RESTAURANT_NOT_FOUND: 'The restaurant that the credential belongs to no longer exists.',
  API_DISABLED: 'API access is switched off for this restaurant; it can be switched on in its settings.',
  ADDRESS_NOT_ALLOWED:
    'The credential is right, but it may not be used from this address. Have the address added, or call from one of its networks.',
  INSUFFICIENT_SCOPE: 'The credential lacks scopes; missing_scopes names exactly those.',
  UNAUTHORIZED: 'The restaurant is not granted to the client, or the credential is quarantined.',
  MISSING_PARAMETER: 'A required parameter is missing. errors names every fault of the request at once.',
  VALIDATION_ERROR: 'The request or a value in it is not valid. errors names every fault with its pointer.',
  INVALID_TOKEN: 'The order token does not fit the order. Every order has its own, given with its receipt.',
  INVALID_ACTION: 'There is no such operation. Paths are case-sensitive and have no trailing slash.',
  NOT_FOUND: 'The entity does not exist, or it is of another restaurant.',
  CUSTOMER_NOT_FOUND: 'There is no such customer, or it was removed.',
  CATEGORY_NOT_FOUND: 'There is no such category.',
  PRODUCT_NOT_FOUND: 'There is no such product: 404 for the requested product, 422 for one that an order names.',
  METHOD_NOT_ALLOWED: 'The path exists for other methods; the header Allow names them.',
  REQUEST_TIMEOUT: 'The body did not arrive in time. Send the request again.',
  TIMEOUT: 'The time to confirm the order is over. The answer has the state of the order.',
  CONFLICT:
    'The present state forbids it, a unique value is taken, or the same idempotent request is still running: then Retry-After says when to ask again.',
  PAYLOAD_TOO_LARGE: 'The body is longer than this operation accepts.',
  URI_TOO_LONG: 'The URL is too long. Send parameters in the body of a POST.',
  UNSUPPORTED_MEDIA_TYPE:
    'The operation does not take bodies of this type. Here they are application/json without a content encoding; the OAuth endpoints take forms.',
  PRODUCT_NOT_AVAILABLE: 'The product exists but is hidden or not sold at this location.',
  OPTION_NOT_FOUND: 'The option is unknown, hidden, or belongs to another product.',
  OPTION_VALUE_NOT_FOUND: 'The option value is unknown, hidden, or not offered with the chosen primary value.',
  INVALID_ADDRESS: 'The address cannot be located or lies outside every delivery zone.',
  COUPON_ERROR: 'The coupon is unknown, not valid now or for this customer, used up, or the order is too small for it.',
  SUBRESTAURANT_NOT_FOUND: 'There is no such location of the restaurant.',
  IMPORT_ERROR: 'The menu was not imported, not even in part. The report in import names every fault.',
  CANNOT_APPLY: 'The coupon exists but does not apply; the message says why.',
  IDEMPOTENCY_KEY_REUSED:
    'The Idempotency-Key was used with another request; errors points to the first difference. Use a new key.',
  INSUFFICIENT_POINTS: 'The points would fall below zero. errors says how many there are.',
  RATE_LIMIT_EXCEEDED:
    'The budget of units, or of failed authentications, is used up. Wait for the seconds of Retry-After.',
  HEADERS_TOO_LARGE: 'The header fields together are too long.',
  INTERNAL_ERROR:
    'An internal fault of the server. Quote the request id; it is safe to send the request again with its Idempotency-Key.',
  UPSTREAM_UNREACHABLE: 'The service behind the gateway could not be reached, or its answer broke off. Try again.',
  OVERLOADED: 'The service has too many requests or is not available. Retry-After says when to try again.',
  UPSTREAM_TIMEOUT:
    'The service did not answer in time, so the outcome is unknown. Send the request again with the same Idempotency-Key.',
};

/** `error` of the OAuth dialect and of the OAuth endpoints (RFC 6749, 6750, 7009, 8707, 9449): statuses and meaning. */
export const oauthTexts: Readonly<Record<string, readonly [statuses: string, title: string, meaning: string]>> = {
  invalid_request: [
    '400',
    'Request not valid',
    'Something is missing, repeated, contradictory or not valid. The description names it.',
  ],
  invalid_token: ['401', 'Token refused', 'The access token is malformed, expired or revoked. Get a new one.'],
  insufficient_scope: [
    '403',
    'Not allowed',
    'The token may not do this. When scopes are missing, the challenge names exactly those in scope.',
  ],
  invalid_client: [
    '401',
    'Client authentication failed',
    'The client is unknown or disabled, its proof is wrong, missing or of a kind that is not offered.',
  ],
  invalid_grant: ['400', 'Nothing granted', 'Every restaurant of the client was withdrawn, has expired or is gone.'],
  unauthorized_client: ['400', 'Client not allowed', 'The client is authenticated, but it may not use this endpoint.'],
  unsupported_grant_type: ['400', 'Grant not offered', 'client_credentials is offered, and token exchange (RFC 8693).'],
  invalid_scope: ['400', 'Scope refused', 'A scope is unknown, malformed or not granted to the client.'],
  invalid_target: [
    '400',
    'Resource refused',
    'A resource is this origin, its /api, or a service behind it that the operator has named; of an exchange, one of the subject token.',
  ],
  invalid_authorization_details: [
    '400',
    'Details refused',
    'authorization_details is not understood, or asks for more than is granted. errors names the member.',
  ],
  invalid_dpop_proof: [
    '400',
    'DPoP proof refused',
    'The DPoP proof (RFC 9449) is missing, wrong, too old or was used before. At operations its status is 401.',
  ],
  use_dpop_nonce: [
    '400',
    'Nonce required',
    'Put the value of the header DPoP-Nonce into the nonce of a new DPoP proof and try again. At operations its status is 401.',
  ],
  slow_down: ['429', 'Too many attempts', 'Too many failed attempts or calls. Wait for the seconds of Retry-After.'],
  server_error: ['500', 'Internal error', 'An internal fault of the server. Quote the request id.'],
  temporarily_unavailable: ['503', 'Not available now', 'Try again after the seconds of Retry-After.'],
};

/** Codes in `errors[]`; refusals of the domain repeat their error code there. */
export const detailTexts = {
  REQUIRED: 'is missing',
  TYPE: 'has another type',
  FORMAT: 'is written in another form',
  RANGE: 'is too small or too large',
  LENGTH: 'is too short or too long',
  ENUM: 'is none of the allowed values',
  DUPLICATE: 'is given twice',
  CONFLICTING_VALUES: 'differs between query and body',
  READ_ONLY: 'is set by the system',
  INVALID_JSON: 'is not JSON',
  TOO_DEEP: 'is nested too deeply',
  NOT_ENABLED: 'is not offered here',
  AMBIGUOUS_CREDENTIALS: 'is a second credential',
  UNSUPPORTED_VERSION: 'is a version that is not offered',
  CURSOR_INVALID: 'is a cursor of another list, or damaged',
  CURSOR_EXPIRED: 'is a cursor to something no longer kept',
  MIXED_PAGING: 'cannot be combined with page',
  OPTION_COUNT: 'has too few or too many values',
  ORDER_MIN: 'is below the minimum order',
  CLOSED: 'is outside opening hours',
  TARGET_REFUSED: 'is an address that webhooks may not go to',
  SANDBOX_ONLY: 'is for credentials of a sandbox',
} as const;
