/** Lists and texts of the gateway that commands offer as choices. They load nothing else of it. */
export { type FoundEvent, toEcs } from '../audit/event/found-event.ts';
export { exportFormats } from '../audit/search/export-formats.ts';
export { searchLimitMax } from '../audit/search/search-limit.ts';
export { limitNames, type OwnLimits } from '../model/own-limits.ts';
export { statusClasses } from './requests/status-class.ts';
