// What requests cost, in points. A point stands for as much work of the gateway as a field of a GraphQL answer: measured,
// one and a half to two microseconds of CPU.

/**
 * A request with a key, before anything that it asks for. Measured, that is work for about 350 fields; a client with few
 * points must still be able to send small requests.
 */
export const requestPoints = 250
/** A change, in addition: a transaction. */
export const changePoints = 200
/** A GraphQL document that the gateway does not remember: it is parsed and validated. */
export const documentPoints = 100
/** Characters of such a document that cost one point more. */
export const charactersPerPoint = 2
/** No more characters count: whatever is longer has few tokens, such as a long text. */
export const maxCountedCharacters = 10_000
/** A row of a REST answer, which has all fields of an item. */
export const rowPoints = 35

/** A handshake, or a request without a key that costs little, such as a page. */
export const pagePoints = 20
/** One that needs a statement, or answers a large file. */
export const queryPoints = 100
/** What operators and balancers ask for again and again. */
export const probePoints: Record<string, number> = { '/health': 5, '/ready': 20, '/metrics': 100 }

export const limitRules = {
  /** Seconds in which an empty bucket is full. */
  windowSeconds: 10,
  /** A key's points per second, unless the operator sets others. */
  keyPointsPerSecond: 20_000,
  /** All keys of an account have this many times the points of one, since an account can make keys at will. */
  keysPerAccount: 4,
  /** What a host may ask for with its key: handshakes and the toolbox. */
  hostPointsPerSecond: 1_000,
  /** What an address may ask for without a key: pages, handshakes, searches. */
  addressPointsPerSecond: 2_000,
  probePointsPerSecond: 2_000,
  /** Keys and tokens that an address may send in vain. */
  guessesPerSecond: 20,
  /** All IPv6 addresses of a customer have this many times the points and guesses of one, since a customer has many. */
  addressesPerNetwork: 4,
}
