/** The part of negotiator that the panel uses; the package has no types of its own. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Readonly<Record<string, string | undefined>> });
    /** The acceptable ones of `available`, the preferred first. */
    encodings(available: readonly string[]): string[];
    languages(available: readonly string[]): string[];
  }
}
