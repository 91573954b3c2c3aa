import type { Tab } from './clean-up.ts'
import { moreTabs } from './tabs-more.ts'

/**
 * Example operations for GraphiQL, one per tab, to run from left to right. Lines are short enough to need no scrolling.
 * Variables take ids from the answers of other tabs: see hand-on.ts. The last tab removes all that the others made, however
 * often they ran, so that they can run again.
 */
export const tabs: Tab[] = [
  {
    query: `# 1. Find: lists offers that match, the cheapest first.
# Prices include a disk of 16 GB. The first one goes to
# the variables of Quote and Rent.
query Find {
  offers(
    first: 10
    filter: {
      verified: true
      reliability: { gte: 0.98 }
      or: [
        { gpuName: { in: ["RTX 4090", "RTX 5090"] } }
        { gpuRamGb: { gte: 80 }, numGpus: { lte: 2 } }
      ]
    }
    pricing: { diskGb: 16 }
    orderBy: [{ field: PRICE_PER_HOUR }]
  ) {
    totalCount
    nodes {
      id
      gpuName
      numGpus
      price(pricing: { diskGb: 16 }) { pricePerHour gpuPricePerHour diskPricePerHour }
      # A bid costs less, but can be outbid.
      minimumBidPerHour
      machine { country reliability downloadMbps }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  },
  {
    query: `# 2. Quote: shows the price of a rental and everything
# that blocks it. It takes the same input as Rent.
# Find fills in the offer; you can write another one.
query Quote($offer: ID!) {
  rentQuote(
    input: {
      offerId: $offer
      spec: {
        source: { image: "pytorch/pytorch:latest" }
        mode: { ssh: { direct: true } }
        diskGb: 16
      }
    }
  ) {
    rentable
    waits # True if the instance would wait for GPUs.
    pricePerHour
    diskPricePerHour # The price while stopped.
    blockers { code message }
    warnings
  }
}
`,
    variables: '{ "offer": "run Find first" }',
  },
  {
    query: `# 3. Keys: registers an SSH key for your next rentals.
# Replace the placeholder under Variables with your own
# .pub line. The API key is for programs. This one may
# search and read instances. Its secret is shown once.
mutation Keys($publicKey: String!) {
  createSshKey(input: { publicKey: $publicKey }) {
    ... on CreateSshKeySuccess {
      sshKey { id name fingerprint }
    }
    ... on Error { code message }
    ... on ConflictError { id }
  }
  createApiKey(
    input: {
      name: "watcher"
      permissions: [
        { category: MARKET_READ }
        { category: INSTANCE_READ }
      ]
    }
  ) {
    ... on CreateApiKeySuccess {
      secret
      apiKey { id prefix }
    }
    ... on Error { code message }
  }
}
`,
    variables: `{
  "publicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBUWF1703UR1DpH9pUme2Q91SNk1xb+s3veIuWbfnCe me@laptop"
}`,
  },
  {
    query: `# 4. Rent: rents the offer given under Variables. If it
# is taken already, the error lists alternatives: run
# Find again. The new instance goes to Follow and Stop.
mutation Rent($offer: ID!) {
  rentInstance(
    input: {
      offerId: $offer
      # Programs also send an idempotencyKey. Repeating
      # a request with the same one rents nothing more.
      spec: {
        source: { image: "pytorch/pytorch:latest" }
        mode: { ssh: { direct: true } }
        diskGb: 16
        label: "my first"
        env: [{ name: "GREETING", value: "hello" }]
        ports: [{ containerPort: 8000 }]
        onStart: "python -m http.server 8000"
      }
    }
  ) {
    ... on RentInstanceSuccess {
      instance { id status pricePerHour }
    }
    ... on Error { code message }
    ... on InvalidInputError { issues { path message } }
    ... on OfferUnavailableError {
      alternatives { id price { pricePerHour } }
      yourInstance { id }
    }
  }
}
`,
    variables: '{ "offer": "run Find first" }',
  },
  {
    query: `# 5. Watch: run this again until the status is RUNNING.
# Then "sshCommand" says how to log in, unless "warning" says
# why that does not work.
query Watch {
  viewer { account { credit } }
  instances(first: 10) {
    totalCount
    nodes {
      id
      label
      status
      statusReason { code message }
      gpuName
      numGpus
      pricePerHour
      connection {
        sshCommand
        warning
        ports { containerPort hostPort protocol }
      }
      actions { action available reason { message } }
    }
  }
}
`,
  },
  {
    query: `# 6. Follow: streams your instances as they are, then their
# changes, until you press the button again. Here you see the
# last item: InstancesSynced, when all instances were sent.
subscription Follow($filter: InstanceFilter) {
  instanceChanges(filter: $filter) {
    __typename
    ... on InstanceChange {
      kind
      instance {
        id
        label
        status
        statusReason { code message }
        statusChangedAt
        connection { sshCommand }
      }
    }
  }
}
`,
    variables: '{ "filter": { "ids": ["run Rent first"] } }',
  },
  {
    query: `# 7. Stop: a stopped instance costs only its disk.
# startInstances starts it again.
mutation Stop($instances: [ID!]!) {
  stopInstances(input: { target: { ids: $instances } }) {
    ... on StopInstancesSuccess {
      items {
        instanceId
        outcome
        instance { targetState status }
        error { code message }
      }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["run Rent first"] }',
  },
  ...moreTabs,
]
