import { moreTabs, type Tab } from './tabs-more.ts'

/**
 * Ready operations for GraphiQL, a tab each: a story from left to right, in lines that its editor shows without scrolling.
 * Their ids are those of the demo market when nothing was rented yet.
 */
export const tabs: Tab[] = [
  {
    query: `# 1. Find: GPUs that will do, the cheapest first,
# priced with the disk that you will ask for.
query Find {
  offers(
    first: 10
    filter: {
      verified: true
      reliability: { gte: 0.98 }
      or: [
        { gpuName: { in: ["RTX 4090", "RTX 5090"] } }
        { gpuRamMb: { gte: 80000 }, numGpus: { lte: 2 } }
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
      pricePerHour
      priceBreakdown { compute disk }
      # At a bid it costs less, until somebody bids more.
      minimumBidPerHour
      machine { country reliability downloadMbps }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  },
  {
    query: `# 2. Quote: what renting would come to, and all that
# stands against it. It takes what Rent takes.
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
    waits # Whether it would have to wait for its GPUs.
    pricePerHour
    diskPricePerHour # What it costs while it is stopped.
    blockers { code message }
    warnings
  }
}
`,
    variables: '{ "offer": "off_1" }',
  },
  {
    query: `# 3. Keys: an SSH key logs in to what you rent from now
# on. Under Variables is nobody's: put in your own .pub.
# An API key is for programs: this one may search and
# read instances. Its secret is shown once.
mutation Keys($publicKey: String!) {
  registerSshKey(input: { publicKey: $publicKey }) {
    ... on RegisterSshKeySuccess {
      sshKey { id name fingerprint }
    }
    ... on Error { code message }
  }
  createApiKey(
    input: {
      name: "watcher"
      permissions: [
        { category: MISC }
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
    query: `# 4. Rent: the offer is named under Variables. Should
# another be quicker, alternatives are named.
mutation Rent($offer: ID!) {
  rentInstance(
    input: {
      offerId: $offer
      # Sent again, it rents nothing more.
      # Another rental takes another key.
      idempotencyKey: "rental-1"
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
      replayed
      instance { id status pricePerHour }
    }
    ... on Error { code message }
    ... on InvalidInputError { issues { path message } }
    ... on OfferUnavailableError {
      alternatives { id pricePerHour }
      yourInstance { id }
    }
  }
}
`,
    variables: '{ "offer": "off_1" }',
  },
  {
    query: `# 5. Watch: run it again until the status is RUNNING.
# Then it says how to log in.
query Watch {
  viewer { credit }
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
        ports { containerPort hostPort protocol }
      }
      actions { action available reason }
    }
  }
}
`,
  },
  {
    query: `# 6. Follow: it goes on until you press the button again,
# or nothing is left of the instance.
subscription Follow($instance: ID!) {
  instanceChanged(id: $instance) {
    label
    status
    statusReason { code message }
    statusChangedAt
    connection { sshCommand }
  }
}
`,
    variables: '{ "instance": "ins_1" }',
  },
  {
    query: `# 7. Stop: a stopped instance costs its disk only.
# With RUNNING it starts again.
mutation Stop($instances: [ID!]!) {
  updateInstances(
    input: { ids: $instances, targetState: STOPPED }
  ) {
    ... on BulkInstancesPayload {
      items {
        id
        outcome
        instance { targetState status }
        error { code message }
      }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1"] }',
  },
  ...moreTabs,
]
