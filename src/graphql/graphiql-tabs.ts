/** Ready operations for GraphiQL, a tab each: a whole rental from left to right. */
export const tabs: { query: string; variables?: string }[] = [
  {
    query: `# 1. Find: offers of a GPU, the cheapest first, priced with the disk that you will ask for.
query Find {
  offers(
    first: 10
    filter: { gpuName: { in: ["RTX 4090", "RTX 5090"] }, verified: true, reliability: { gte: 0.98 } }
    pricing: { diskGb: 16 }
  ) {
    totalCount
    nodes {
      id
      gpuName
      numGpus
      pricePerHour
      priceBreakdown { compute disk }
      machine { country reliability downloadMbps }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  },
  {
    query: `# 2. Rent: put the id of an offer into the variables below. Should another be quicker, alternatives are named.
mutation Rent($offer: ID!) {
  rentInstance(
    input: {
      offerId: $offer
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
    ... on RentInstanceSuccess { instance { id status pricePerHour machine { country } } }
    ... on Error { code message }
    ... on InvalidInputError { issues { path message } }
    ... on OfferUnavailableError { alternatives { id pricePerHour } yourInstance { id } }
  }
}
`,
    variables: '{ "offer": "off_1" }',
  },
  {
    query: `# 3. Watch: run it again until the status is RUNNING. Then it says how to log in.
query Watch {
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
      connection { sshCommand ports { containerPort hostPort protocol } }
      actions { action available reason }
    }
  }
}
`,
  },
  {
    query: `# 4. Stop: a stopped instance costs its disk only. With RUNNING it starts again.
mutation Stop($instances: [ID!]!) {
  updateInstances(input: { ids: $instances, targetState: STOPPED }) {
    ... on BulkInstancesPayload {
      items { id outcome instance { targetState status } error { code message } }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1"] }',
  },
  {
    query: `# 5. Destroy: it ends the rental, and the disk with all that is on it.
mutation Destroy($instances: [ID!]!) {
  destroyInstances(input: { ids: $instances }) {
    ... on BulkInstancesPayload {
      succeededCount
      items { id outcome error { code message } }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1"] }',
  },
  {
    query: `# The best bids: either many GPUs in one machine, or a large one.
query BidsForTraining {
  offers(
    first: 10
    pricing: { type: INTERRUPTIBLE, diskGb: 200 }
    filter: {
      datacenter: true
      or: [{ numGpus: { gte: 8 } }, { gpuRamMb: { gte: 80000 } }]
    }
    orderBy: [{ field: DLPERF_PER_DOLLAR, direction: DESC }]
  ) {
    nodes {
      id
      gpuName
      numGpus
      gpuTotalRamMb
      minimumBidPerHour
      pricePerHour
      dlperfPerDollar
      machine { cpuName cpuRamMb nvlinkGbps city country }
    }
  }
}
`,
  },
  {
    query: `# Who you are, what you can spend, and what the trade sells.
query Me {
  viewer { id email credit }
  gpuModels { name gpuRamMb tflops memoryBandwidthGbps }
}
`,
  },
]
