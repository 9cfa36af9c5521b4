/// P8 to P11: what must not depend on how much was said of a purchase, how many there are, and what a key does.
extension WholeMeasurement {
    func growth(_ table: inout BenchmarkTable) throws {
        try histories(&table)
        try crowd(&table)
        try grown(&table)
        try subscribers(&table)
        try rivals(&table)
    }

    private func histories(_ table: inout BenchmarkTable) throws {
        let report = try measure(.history, "a long history", &table) { own in
            own.count = options.quick ? 80 : 200
        }
        table.add(
            "P8", "CPU of applying, 10,000 facts", report["cpu_ratio"], "of that with 30", .most(1.5),
            method: "\(options.quick ? 80 : 200) notifications of each, one after the other; worker and its Postgres")
        table.add("", "… with 30 facts", report["short_cpu"], "µs each", method: "idle CPU taken off")
    }

    private func crowd(_ table: inout BenchmarkTable) throws {
        let (purchases, facts) = options.quick ? (32, 2000) : (256, 10_000)
        let report = try measure(.crowd, "a crowd of long histories", &table) { own in
            (own.purchases, own.facts) = (purchases, facts)
            own.rounds = options.quick ? 1 : 3
        }
        let many = BenchmarkReport.number(Double(facts))
        table.add(
            "P8", "fresh customers' records, p99", report["record_p99"], "ms", .most(1000),
            method:
                "50 customers a second, while \(purchases) purchases with \(many) facts get a notification each at once"
        )
        table.add(
            "", "… without those", report["alone_p99"], "ms",
            method: "the same customers, from the answer to the record")
    }

    private func grown(_ table: inout BenchmarkTable) throws {
        let purchases = options.quick ? 40_000 : 200_000
        let report = try measure(.grown, "a database that has grown", &table) { own in
            own.purchases = purchases
            own.count = options.quick ? 1000 : 2000
            own.rounds = options.quick ? 1 : 3
        }
        let (many, facts) = (BenchmarkReport.number(Double(purchases)), BenchmarkReport.number(report["many_facts"]))
        let method = """
            beside \(many) purchases with \(facts) facts, to 20,000 with 200,000; `Benchmarks grown` does it with \
            5,000,000
            """
        table.add("P9", "accepts, grown", report["accepts_ratio"], "of it", .least(0.8), method: method)
        table.add("P9", "applies, grown", report["applies_ratio"], "of it", .least(0.8), method: method)
        table.add(
            "P9", "`GET /v1/subscribers`, grown", report["reads_ratio"], "of it", .least(0.8),
            method: "the same; customers without a snapshot")
        table.add("", "… asked for again", report["rereads_ratio"], "of it", method: "the same")
    }

    private func subscribers(_ table: inout BenchmarkTable) throws {
        let customers = options.quick ? 100_000 : 1_000_000
        let report = try measure(.subscribers, "customers", &table) { own in
            own.customers = customers
            own.count = 20_000
        }
        let method = """
            \(BenchmarkReport.number(Double(customers))) customers with a subscription each, in no order, \
            \(options.connections) connections
            """
        table.add(
            "P10", "`GET /v1/subscribers/{id}`", report["hot_per_second"], "/s", .least(10_000), method: method)
        table.add("P10", "… answered, p99", report["hot_p99"], "ms", .most(15), method: method)
        table.add(
            "", "… CPU", report["hot_api_cpu"] + report["hot_postgres_cpu"], "µs each", method: "of api and Postgres")
    }

    private func rivals(_ table: inout BenchmarkTable) throws {
        let report = try measure(.rivals, "rivals", &table) { own in
            own.count = options.quick ? 100 : 300
            own.rounds = options.quick ? 1 : 3
        }
        table.add(
            "P11", "others' `POST /v1/receipts`, p99", report["p99_ratio"], "times it", .most(3),
            method: """
                fresh customers, 3 at a time, while another address moves an account of 2,000 purchases and looks up \
                unknown ids with the same key, on 8 connections; to quiet times
                """)
        table.add("", "… refused", report["attacked_refused"], "receipts", .most(0), method: "of those others")
    }
}
